"""Mutation testing of checkers: `python -m benchmarks.mutation`."""
