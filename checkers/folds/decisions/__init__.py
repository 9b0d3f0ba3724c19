"""What controllers decided, against what they knew."""
