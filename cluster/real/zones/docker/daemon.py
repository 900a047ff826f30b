"""The Docker daemon: a client for it, and its failures as one clear line each."""

import contextlib
import os
from collections.abc import Iterator

import requests
from docker.client import DockerClient
from docker.errors import APIError, DockerException

from zonelab.cluster.zone import ZoneError

_DEFAULT_SOCKET = "unix:///var/run/docker.sock"
_CALL_TIMEOUT_S = 60


def daemon_address() -> str:
    return os.environ.get("DOCKER_HOST") or _DEFAULT_SOCKET


def connect() -> DockerClient:
    """A client of the daemon that DOCKER_HOST or the default socket names. Raises ``ZoneError`` if none answers."""
    with daemon_errors("connect"):
        client = DockerClient.from_env(timeout=_CALL_TIMEOUT_S)
        client.ping()
        return client


@contextlib.contextmanager
def daemon_errors(what: str) -> Iterator[None]:
    """Turn failures of Docker inside the block into a ``ZoneError`` that says ``what`` could not be done."""
    try:
        yield
    except APIError as error:
        raise ZoneError(f"{what}: Docker refused: {_line(error.explanation or error)}") from error
    except (DockerException, requests.exceptions.RequestException) as error:
        raise ZoneError(
            f"Docker does not answer at {daemon_address()}: start it, or use --on process ({_reason(error)})"
        ) from error


def _reason(error: BaseException) -> str:
    """Return what the operating system said, under the layers of libraries that reported it."""
    innermost = error
    while (below := innermost.__cause__ or innermost.__context__) is not None:
        innermost = below
    return innermost.strerror if isinstance(innermost, OSError) and innermost.strerror else _line(error)


def _line(error: object) -> str:
    return " ".join(str(error).split())
