"""Raft as KIP-595 has it: followers fetch, leaders do not push. Pure: no socket, clock or disk."""
