"""`python -m framework.hosts.docker SYSTEM`: build a system's image where it is missing; print
its tag."""

import sys

import docker
from framework.errors import EngineError, UsageError
from framework.hosts.docker.image import ensure
from framework.plugins import registry
from framework.plugins.system import System

if len(sys.argv) != 2:
    sys.exit(f"which system? One of: {', '.join(registry.names('systems'))}")
try:
    system: System = registry.load("systems", sys.argv[1])
    print(ensure(docker.from_env(), system.image()))
except (UsageError, EngineError, docker.errors.DockerException) as error:
    sys.exit(f"no image: {error}")
