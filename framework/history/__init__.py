"""Histories: the events of a run, in one total order."""
