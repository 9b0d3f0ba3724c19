"""What a node measures of itself, and how it tells."""
