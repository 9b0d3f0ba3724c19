"""Cells with few operations open at once: many keys in one call."""
