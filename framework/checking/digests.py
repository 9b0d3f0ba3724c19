"""What code there is, as a digest: whether something was made by the same code as is here."""

import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def code_digest(*names: str) -> str:
    """Of the sources of packages or modules; of one that has none here, its name alone."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\0".encode())
        for place, source in _sources(name):
            digest.update(f"{place}\0".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def package_of(thing: object) -> str:
    """The outermost package in which its class is defined."""
    return type(thing).__module__.partition(".")[0]


def _sources(name: str) -> Iterator[tuple[str, Path]]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return
    if spec is None:
        return
    for root in spec.submodule_search_locations or ():
        for source in sorted(Path(root).rglob("*.py")):
            yield str(source.relative_to(root)), source
    if not spec.submodule_search_locations and spec.has_location and spec.origin:
        yield "", Path(spec.origin)
