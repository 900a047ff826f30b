"""Goal: the image's build context holds the server and what it needs, the same every time. Method: unpack it."""

import io
import re
import tarfile
from pathlib import Path

import pytest
import yaml

from zonelab.app.gmq_service.image import GMQ
from zonelab.cluster.admin.coordinator_image import COORDINATOR
from zonelab.cluster.real.zones.docker.zone_image import (
    SERVER_PATH,
    USER_ID,
    build_context,
    default_image,
    needed_libraries,
)
from zonelab.cluster.real.zones.process.binary import find_binary
from zonelab.cluster.zone import ZoneError


def unpack(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {entry.name: (entry, tar.extractfile(entry).read() if entry.isfile() else None) for entry in tar}


def test_the_context_is_the_same_every_time_and_has_no_trace_of_the_moment():
    server = find_binary(None)
    context = build_context(server)
    assert build_context(server) == context
    entries = {**unpack(context), **unpack(unpack(context)["root.tar"][1])}
    assert {entry.mtime for entry, _ in entries.values()} == {0}


def test_the_root_holds_the_server_its_libraries_and_a_data_folder_that_is_not_roots():
    server = find_binary(None)
    context = unpack(build_context(server))
    assert sorted(context) == ["Dockerfile", "root.tar"]
    root = unpack(context["root.tar"][1])
    libraries = needed_libraries(server.path)
    assert any("ld-linux" in library.name for library in libraries)
    files = {f"/{name}": content for name, (entry, content) in root.items() if entry.isfile()}
    assert files == {SERVER_PATH: server.path.read_bytes(), **{str(path): path.read_bytes() for path in libraries}}
    owners = {name: entry.uid for name, (entry, _) in root.items()}
    assert {name for name, owner in owners.items() if owner != 0} == {"data"}
    assert owners["data"] == USER_ID


def test_the_dockerfile_starts_from_nothing_runs_without_root_and_names_the_version():
    server = find_binary(None)
    lines = unpack(build_context(server))["Dockerfile"][1].decode().splitlines()
    assert lines[0] == "FROM scratch"
    assert f"USER {USER_ID}:{USER_ID}" in lines
    assert f'LABEL zonelab.server="valkey {server.version}"' in lines


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    ldd = tmp_path / "ldd"
    ldd.write_text("#!/bin/sh\necho '\tlibc.so.6 => /lib/libc.so.6 (0x0001)'\necho '\tlibssl.so.9 => not found'\n")
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(ZoneError, match=r"^/x/server needs libraries that are not installed: libssl\.so\.9$"):
        needed_libraries("/x/server")


def test_without_ldd_the_error_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ZoneError, match="ldd, which finds the libraries of /x/server, cannot be run"):
        needed_libraries("/x/server")


def test_the_compose_file_uses_the_images_that_are_built_and_publishes_on_loopback_the_ports_that_the_docs_name():
    text = (Path(__file__).parents[4] / "docker" / "compose.yaml").read_text()
    services = yaml.safe_load(re.sub(r"\$\{\w+:-(\d+)\}", r"\1", text))["services"].values()
    assert {service["image"] for service in services} == {default_image(), COORDINATOR.image, GMQ.image}
    published = [port.rpartition(":")[0] for service in services for port in service["ports"]]
    zones = [base + zone for base in (7000, 7400, 8000) for zone in (1, 2, 3)]
    assert sorted(published) == [f"127.0.0.1:{port}" for port in sorted([*zones, 8000, 9277, 9503])]
