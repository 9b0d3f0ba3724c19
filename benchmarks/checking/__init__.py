"""Checking at scale: kernels, the way from a file to the verdict, and another checker beside."""
