"""Errors of the storage."""


class StorageError(Exception):
    """What is on disk cannot be used. The message is one line that says why."""
