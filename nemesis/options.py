"""What options of nemeses have in common."""


def targets_of(text: str) -> list[str]:
    """The targets of a `target` option: `leader`, or several as in `leader+brokers`."""
    return [each.strip() for each in text.split("+") if each.strip()]


def need_positive(**options: float | None) -> None:
    """Raises `ValueError` that names the option that is not above 0."""
    for name, value in options.items():
        if value is not None and not 0 < value < 1e9:
            raise ValueError(f"{name}={value:g} is not above 0")
