"""Kinds of hosts that ship with the engine."""
