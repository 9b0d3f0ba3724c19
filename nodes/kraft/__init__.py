"""The Python KRaft node: the KIP-631 draft controller on a KIP-595 Raft log."""
