"""Checking: stored runs and foreign histories, on Spark."""
