"""Linearizability of one object: sequential models, and kernels that decide for one key."""
