"""Recorded operations of a model, into the numbers that kernels read."""
