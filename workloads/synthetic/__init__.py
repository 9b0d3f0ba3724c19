"""What generators of synthetic brokers know: learned from completions alone, as values."""
