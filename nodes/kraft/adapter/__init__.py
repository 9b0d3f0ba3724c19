"""Through which the framework meets the node: the only part of it that knows the framework."""
