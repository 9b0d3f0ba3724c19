"""The node's wire: our own messages and records as kio entities, framing, and translation."""
