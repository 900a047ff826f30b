"""Goal: the package needs what it declares, its optional parts alone need the extras, and a fork can test it.

Method: pyproject.toml beside docs/dependencies.md; every module is imported by a Python from which the extras' packages
are hidden.
"""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from support.project_files import FOLDERS, ROOT, project_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OPTIONAL = re.compile(
    "analysis/spark/|studies/many_runs/spark|app/terminal/(aggregate_tables|so_far)"
    "|cluster/real/zones/docker/|cluster/admin/(coordinator|python)_image|app/gmq_service/image"
    "|studies/properties/"
)
"""Where modules may need an extra as soon as they are imported; others import these when they are asked for them."""
ABSENT = ("docker", "requests", "pyspark", "py4j", "hypothesis", "pytest", "_pytest")

_IMPORT_EACH = """
import importlib, sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error.name)
"""


def named(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def reasons(page):
    """The packages in the first and second cells of the page's tables."""
    return set(
        re.findall(r"[\w-]+", " ".join("|".join(row.split("|")[1:3]) for row in page.splitlines() if "|" in row))
    )


def without_reason(page):
    wanted = [*PROJECT["dependencies"], *EXTRAS["spark"], *EXTRAS["docker"], *EXTRAS["testing"]]
    return [named(one) for one in wanted if named(one) not in reasons(page)]


def test_each_dependency_has_its_reason():
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    assert without_reason(page) == []
    assert without_reason(page.replace("| simpy |", "| |")) == ["simpy"]


@pytest.mark.parametrize("name", ["pandas", "pyspark", "docker", "pytest", "hypothesis"])
def test_the_core_leaves_out(name):
    assert name not in map(named, PROJECT["dependencies"])


def test_extras_are_what_all_and_the_work_on_zonelab_get():
    assert EXTRAS["all"] == ["zonelab[spark,docker,testing]"]
    assert "zonelab[all]" in EXTRAS["dev"]
    assert ".[dev]" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_only_the_optional_parts_need_the_extras():
    inside = re.compile(rf"({'|'.join(FOLDERS)}|zonelab)/(.*/)?(?!__main__)\w+\.py")
    programs_of_guests = re.compile("scenarios/guests/.+/|studies/known/failures/")
    paths = sorted(path for path in project_files() if inside.fullmatch(path) and not programs_of_guests.match(path))
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in paths}
    modules = {name if name.startswith("zonelab") else f"zonelab.{name}": path for name, path in modules.items()}
    asked = [sys.executable, "-c", _IMPORT_EACH, *ABSENT]
    done = subprocess.run(asked, cwd=ROOT, input="\n".join(modules), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused = dict(line.split() for line in done.stdout.splitlines())
    assert {name: lacks for name, lacks in refused.items() if not OPTIONAL.match(modules[name])} == {}
    assert {
        "zonelab.analysis.spark.session",
        "zonelab.studies.many_runs.spark",
        "zonelab.studies.properties.machine",
    } <= refused.keys()
    assert {lacks.partition(".")[0] for lacks in refused.values()} <= set(ABSENT)


def workflow_faults(text):
    """Actions without a major version, and commands that are no target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    loose = [step["uses"] for step in steps if not re.search(r"@v\d+$", step.get("uses", "@v0"))]
    commands = [step["run"].removeprefix("make ") for step in steps if "run" in step]
    return loose + [each for each in commands if not re.search(rf"^{re.escape(each)}:", makefile, re.MULTILINE)]


def test_the_workflow_runs_what_a_contributor_runs():
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert workflow_faults(text) == []
    assert workflow_faults(text.replace("checkout@v4", "checkout@main", 1)) == ["actions/checkout@main"]
    assert workflow_faults(text.replace("make test", "make tests")) == ["tests"]
