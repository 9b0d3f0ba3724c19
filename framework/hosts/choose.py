"""Which kind of hosts a run takes."""

from framework.errors import UsageError
from framework.plugins import registry
from framework.plugins.host import Ability, HostProvider

AUTO = "auto"
PREFERENCE = ("docker", "namespaces")
"""What `auto` tries, in this order."""


def choose(name: str) -> tuple[HostProvider, str]:
    """The provider for `--hosts NAME`, and the line that says which and why.

    Raises `UsageError` that names what this machine lacks.
    """
    if name != AUTO:
        provider: HostProvider = registry.load("hosts", name)
        missing = lacks(provider)
        if missing:
            raise UsageError(f"--hosts {name} does not work here: {_summary(missing)}")
        return provider, f"hosts: {name}, as asked for"
    reasons: list[str] = []
    for candidate in PREFERENCE:
        provider = registry.load("hosts", candidate)
        missing = lacks(provider)
        if not missing:
            why = f" ({'; '.join(reasons)})" if reasons else " (an engine answers)"
            return provider, f"hosts: {candidate}{why}"
        reasons.append(f"no {candidate}: {missing[0].name}: {missing[0].detail}")
    raise UsageError(f"no kind of hosts works here: {'; '.join(reasons)}; see `doctor`")


def lacks(provider: HostProvider) -> list[Ability]:
    """Abilities that a provider needs and this machine has not."""
    return [ability for ability in provider.abilities() if not ability.works]


def _summary(missing: list[Ability]) -> str:
    return "; ".join(f"{one.name}: {one.detail} (to get it: {one.remedy})" for one in missing)
