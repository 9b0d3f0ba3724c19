"""Hosts that are processes in namespaces of their own.

Nothing is imported here: an agent a node starts with this package, and needs next to none of it.
"""
