"""What a node's settings say of defects, and the agent that puts them in."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from framework.errors import UsageError
from framework.plugins.host import Host
from nodes.kafka import java
from nodes.kafka.defects.catalogue import DEFECTS
from nodes.kafka.defects.making import JAR, Agent, agent, class_of
from nodes.kafka.software import DEFECT, asked_for


def agent_for(wanted: Mapping[str, str]) -> Agent | None:
    """Of a node with these settings; None where it is whole. Raises `UsageError`."""
    defect = wanted.get(DEFECT)
    if defect is None:
        return None
    if defect not in DEFECTS:
        raise UsageError(f"--set {DEFECT}={defect}: known are {', '.join(sorted(DEFECTS))}")
    return agent([defect], asked_for(wanted), java.command(wanted))


def files(asked: Iterable[Mapping[str, str]]) -> dict[str, Path]:
    """What a machine must carry for nodes with these settings: path below `Host.software` ->
    file here."""
    agents = [made for wanted in asked if (made := agent_for(wanted)) is not None]
    return {f"{made.key}/{name}": path for made in agents for name, path in made.files.items()}


def flags(host: Host, wanted: Mapping[str, str]) -> list[str]:
    """What Java is told, on a host, to break the node; nothing where it is whole."""
    made = agent_for(wanted)
    if made is None:
        return []
    jar = f"{host.software}/{made.key}/{JAR}" if host.software else str(made.files[JAR])
    return [f"-javaagent:{jar}={class_of(wanted[DEFECT])}"]
