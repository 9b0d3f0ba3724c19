"""`python -m framework.hosts.docker SYSTEM...`: build the images of systems where they are missing;
print their tags. A system is named, or given as MODULE:CLASS where its package is not installed."""

import sys
from importlib.metadata import EntryPoint

import docker
from framework.errors import EngineError, UsageError
from framework.hosts.docker.image import ensure
from framework.plugins import registry
from framework.plugins.system import System


def system(name: str) -> System:
    """Raises `UsageError` where there is none."""
    if ":" not in name:
        found: System = registry.load("systems", name)
        return found
    try:
        made: System = EntryPoint(name, name, "framework.systems").load()()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name} is no MODULE:CLASS: {error}") from error
    return made


if len(sys.argv) < 2:
    sys.exit(f"which system? One of: {', '.join(registry.names('systems'))}")
try:
    for each in map(system, sys.argv[1:]):
        print(ensure(docker.from_env(), each.image()))
except (UsageError, EngineError, docker.errors.DockerException) as error:
    sys.exit(f"no image: {error}")
