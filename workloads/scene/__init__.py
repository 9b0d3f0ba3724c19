"""What generators that play brokers know: learned from completions alone, as values."""
