"""Reading settings: one line of text each, and one clear line of complaint where it is wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

MAX_ID: Final = 2**31 - 1
MAX_PORT: Final = 65535

Settings = Mapping[str, str]


class ConfigError(Exception):
    """A setting is missing or wrong. The message is one line."""


def parse_properties(text: str) -> dict[str, str]:
    """Lines `key=value`; blank lines and lines that begin with # or ! are passed over."""
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        key, equals, value = stripped.partition("=")
        if not equals:
            raise ConfigError(f"line {number}: {stripped!r} is not of the form key=value")
        settings[key.strip()] = value.strip()
    return settings


def is_number(text: str, highest: int) -> bool:
    """Whether `text` is a decimal from 0 to `highest`."""
    return text.isascii() and text.isdecimal() and int(text) <= highest


def names(text: str) -> list[str]:
    """What stands between commas."""
    return [item.strip() for item in text.split(",") if item.strip()]


def required(settings: Settings, key: str) -> str:
    if not settings.get(key):
        raise ConfigError(f"{key} is missing")
    return settings[key]


def integer(settings: Settings, key: str, low: int, high: int, default: int) -> int:
    text = settings.get(key)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        raise ConfigError(f"{key}={text}: it is a whole number") from None
    if not low <= value <= high:
        raise ConfigError(f"{key}={text}: it is a whole number from {low} to {high}")
    return value


def boolean(settings: Settings, key: str, *, default: bool) -> bool:
    text = settings.get(key)
    if text is None:
        return default
    if text not in ("true", "false"):
        raise ConfigError(f"{key}={text}: it is true or false")
    return text == "true"


def one_of(settings: Settings, key: str, choices: tuple[str, ...], default: str) -> str:
    text = settings.get(key, default)
    if text not in choices:
        raise ConfigError(f"{key}={text}: it is one of {', '.join(choices)}")
    return text


def readable_file(settings: Settings, key: str) -> Path | None:
    """The path of a file that is there and can be read; None: not set."""
    text = settings.get(key)
    if not text:
        return None
    path = Path(text)
    try:
        path.open("rb").close()
    except OSError as error:
        raise ConfigError(f"{key}={text}: {error.strerror}") from None
    return path
