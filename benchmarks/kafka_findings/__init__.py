"""What was found in Apache Kafka, reduced to one JVM: `python -m benchmarks.kafka_findings`."""
