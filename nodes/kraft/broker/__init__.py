"""The broker's decisions: its life cycle, and what it tells clients from its image."""
