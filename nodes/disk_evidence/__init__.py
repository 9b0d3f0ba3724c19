"""What nodes that keep Kafka's files left on their disks, as evidence: adapters say how they lay
them out and what their records mean."""
