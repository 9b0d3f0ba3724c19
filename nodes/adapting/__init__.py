"""What adapters of systems that speak Kafka's protocol have in common."""
