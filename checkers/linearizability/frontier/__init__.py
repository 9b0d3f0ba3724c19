"""The method "frontier": breadth-first over completions."""
