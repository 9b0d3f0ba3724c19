"""What Apache Kafka promises, by release, and what not: the one table that says what is judged."""
