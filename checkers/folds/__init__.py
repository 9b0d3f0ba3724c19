"""Folds over evidence that several rules share, by what they are about. Arrows go down:

replicas
isr
partitions   decisions   fencing
requests   replayed   quorum   serving
metadata_log   cluster   groups
history
"""
