"""The method "log order": the order that the system itself names."""
