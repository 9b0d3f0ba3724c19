"""Folds over evidence that several rules share."""
