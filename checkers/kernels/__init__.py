"""Pure kernels: plain observations in, an `Outcome` out. No Spark here."""
