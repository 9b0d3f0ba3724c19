"""A small synchronous Kafka client for histories: it never guesses what became of a request."""
