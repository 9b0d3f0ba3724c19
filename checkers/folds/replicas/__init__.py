"""Partitions' logs as they lie on the disks of brokers."""
