"""Properties: Spark jobs, and the kernels that they call."""
