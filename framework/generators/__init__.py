"""Generators: schedules of operations as immutable values."""
