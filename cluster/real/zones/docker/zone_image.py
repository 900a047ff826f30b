"""The image of container zones: the packaged Valkey server and the shared libraries it needs, on nothing else.

Built from scratch on this machine, so that no registry is needed. The build context is a tar archive that is the same,
byte for byte, for the same server and libraries, so a second build finds everything in Docker's cache.
"""

import contextlib
import io
import re
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from zonelab.cluster.real.zones.docker.daemon import connect, daemon_errors
from zonelab.cluster.real.zones.process.binary import ServerBinary, find_binary
from zonelab.cluster.zone import ZoneError

REPOSITORY = "zonelab-zone"
VERSION_LABEL = "zonelab.server"
SERVER_PATH = "/usr/local/bin/zone-server"
USER_ID = 65_532
"""No user of any host: the number that images without a user list conventionally run as."""

_DOCKERFILE = """\
FROM scratch
ADD root.tar /
ENV LD_LIBRARY_PATH={library_path}
USER {user}:{user}
WORKDIR /data
EXPOSE 6379
LABEL {label}="{product} {version}"
ENTRYPOINT ["{server}"]
"""


@dataclass(frozen=True, slots=True)
class BuiltImage:
    name: str
    size_bytes: int


def default_image() -> str:
    """Name and tag of the image that ``build_image`` builds without arguments. Blocks for some milliseconds."""
    return _name(find_binary(None))


def build_image(*, binary: str | Path | None = None) -> BuiltImage:
    """Build the image out of ``binary`` (None: the packaged server). Blocks for a second or two.

    Raises ``ZoneError`` when Docker does not answer, or a library that the server needs is missing.
    """
    server = find_binary(binary)
    return built(_name(server), build_context(server))


def built(name: str, context: bytes) -> BuiltImage:
    """Build the image ``name`` out of the tar archive ``context``. Raises ``ZoneError`` when Docker does not answer."""
    with contextlib.closing(connect()) as client, daemon_errors(f"building image {name}"):
        image, _log = client.images.build(
            fileobj=io.BytesIO(context), custom_context=True, tag=name, rm=True, forcerm=True
        )
        return BuiltImage(name=name, size_bytes=int(image.attrs["Size"]))


def build_context(server: ServerBinary) -> bytes:
    """The tar archive that Docker builds from: a Dockerfile, and the image's root file system as an archive."""
    libraries = needed_libraries(server.path)
    dockerfile = _DOCKERFILE.format(
        library_path=":".join(sorted({str(library.parent) for library in libraries})) or "/lib",
        user=USER_ID,
        label=VERSION_LABEL,
        product=server.product,
        version=server.version,
        server=SERVER_PATH,
    )
    files = {SERVER_PATH: server.path, **{str(library): library for library in libraries}}
    return context_of(dockerfile, files)


def context_of(dockerfile: str, files: Mapping[str, Path]) -> bytes:
    """A build context whose ``root.tar`` has ``files``, by their paths in the image, and an empty ``/data``."""
    return _archive([_file("Dockerfile", dockerfile.encode()), _file("root.tar", _root(files))])


def needed_libraries(program: Path) -> list[Path]:
    """The shared libraries and the ELF interpreter that ``program`` is loaded with, as ldd(1) resolves them here."""
    try:
        answer = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ZoneError(f"ldd, which finds the libraries of {program}, cannot be run: {error}") from error
    missing = re.findall(r"^\s*(\S+) => not found", answer.stdout, re.MULTILINE)
    if missing:
        raise ZoneError(f"{program} needs libraries that are not installed: {', '.join(missing)}")
    return sorted(Path(path) for path in re.findall(r"(/\S+) \(0x", answer.stdout))


def _name(server: ServerBinary) -> str:
    return f"{REPOSITORY}:{server.product}-{server.version}"


def _root(files: Mapping[str, Path]) -> bytes:
    folders = sorted({str(parent) for path in files for parent in PurePosixPath(path).parents if parent.name})
    data = _folder("data")
    data.uid = data.gid = USER_ID
    return _archive(
        [
            (data, b""),
            *((_folder(folder), b"") for folder in folders),
            *(_file(path, source.read_bytes()) for path, source in sorted(files.items())),
        ]
    )


def _folder(path: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.type = tarfile.DIRTYPE
    entry.mode = 0o755
    return entry


def _file(path: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.size = len(content)
    entry.mode = 0o755
    return entry, content


def _archive(entries: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar archive without anything of the moment or the machine: times and owners are zero unless set."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for entry, content in entries:
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()
