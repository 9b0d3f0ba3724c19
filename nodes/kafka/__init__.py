"""Apache Kafka as a system under test: an adapter, and nothing of Kafka's own."""
