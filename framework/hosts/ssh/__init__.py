"""Hosts that are machines of the user's."""

from framework.hosts.ssh.provider import SshProvider

__all__ = ["SshProvider"]
