"""Hosts that are containers."""

from framework.hosts.docker.provider import DockerProvider

__all__ = ["DockerProvider"]
