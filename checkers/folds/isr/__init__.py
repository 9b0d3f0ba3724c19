"""Leaders and in-sync replicas: requests, records, and what an ISR is for."""
