"""The two ways in which a command of ours ends early."""


class UsageError(Exception):
    """The user asked for something that cannot be done; nothing was started.

    The message is one line: what is wrong, and what would be right. Exit code 254.
    """


class EngineError(Exception):
    """The framework itself failed. The message is one line. Exit code 255."""
