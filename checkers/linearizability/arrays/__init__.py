"""What kernels share: heaps, numbering, the order of events."""
