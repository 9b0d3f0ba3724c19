"""What options of nemeses have in common."""


def targets_of(text: str) -> list[str]:
    """The targets of a `target` option: `leader`, or several as in `leader+brokers`."""
    return [each.strip() for each in text.split("+") if each.strip()]
