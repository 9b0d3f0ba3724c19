"""What clients see of one partition's log."""
