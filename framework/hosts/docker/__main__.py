"""`python -m framework.hosts.docker`: build the node image where it is missing; print its tag."""

import sys

import docker
from framework.errors import EngineError
from framework.hosts.docker.image import ensure

try:
    print(ensure(docker.from_env()))
except (EngineError, docker.errors.DockerException) as error:
    sys.exit(f"no image: {error}")
