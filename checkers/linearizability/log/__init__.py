"""The method "along the log": the order that the system itself names."""
