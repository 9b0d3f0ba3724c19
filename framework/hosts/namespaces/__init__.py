"""Hosts that are processes in namespaces of their own."""

from framework.hosts.namespaces.provider import NamespacesProvider

__all__ = ["NamespacesProvider"]
