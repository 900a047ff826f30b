"""Goal: the image of a program has all that the program imports, ours and others'.

Method: unpack what Docker would be given, and run the programs with nothing but the unpacked packages.
"""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.programs import HANGS_S

from zonelab.app.gmq_service.image import GMQ
from zonelab.cluster.admin.coordinator_image import COORDINATOR
from zonelab.cluster.admin.python_image import PythonProgram


def packages_of(program: PythonProgram, folder: Path) -> str:
    """Unpack what is not Python itself; the Dockerfile."""
    with tarfile.open(fileobj=io.BytesIO(program.context())) as context:
        dockerfile, root = context.extractfile("Dockerfile"), context.extractfile("root.tar")
        assert dockerfile is not None
        assert root is not None
        with tarfile.open(fileobj=root) as files:
            files.extractall(folder, [one for one in files if one.name.startswith("app/")], filter="data")
        return dockerfile.read().decode()


@pytest.mark.parametrize("program", [COORDINATOR, GMQ], ids=lambda program: program.module)
def test_the_program_starts_from_the_packages_of_its_image_alone(program: PythonProgram, tmp_path: Path) -> None:
    dockerfile = packages_of(program, tmp_path)
    assert f'"-P", "-m", "{program.module}"' in dockerfile
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-m", program.module, "--help"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "app")},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--config" in done.stdout
    assert (tmp_path / "app/zonelab/engine/dyno/v1/lua/atomic_remove.lua").is_file()
    assert not (tmp_path / "app/zonelab/engine").is_symlink()
