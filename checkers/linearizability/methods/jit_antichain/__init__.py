"""The method "jit antichain": breadth-first over completions."""
