"""What options of workloads have in common."""


def at_least(least: int, **values: int) -> None:
    """Raises `ValueError`, in a line for users, for the first of these options below `least`."""
    for name, value in values.items():
        if value < least:
            raise ValueError(f"{name}={value}: it is {least} or more")
