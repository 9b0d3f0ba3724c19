"""Which lies in one answer of a run are found; see `__main__`."""
