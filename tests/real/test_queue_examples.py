"""Goal: the programs in docs/queues-by-example.md and docs/ordered-by-example.md do what the pages say. Method: each is
cut out and run by a Python of its own, and prints what stands under it.
"""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from zonelab.cluster.real.zones import ProcessZone

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
PAGES = [(ROOT / "docs" / f"{name}-by-example.md").read_text(encoding="utf-8") for name in ("queues", "ordered")]
SECTION = re.compile(r"^## (.*?)\n.*?^```python\n(.*?)^```\n\n((?: {4}[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
EXAMPLES = {title: (program, printed) for page in PAGES for title, program, printed in SECTION.findall(page)}
OWN_SERVER = "redis://127.0.0.1:6379"
PATIENCE_S = 60


def output_of(program):
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def as_printed(title):
    return re.sub(r"^ {4}", "", EXAMPLES[title][1], flags=re.MULTILINE)


def test_every_section_has_a_program_and_what_it_prints():
    assert list(EXAMPLES) == [title for page in PAGES for title in re.findall(r"^## (.*)", page, re.MULTILINE)]
    assert sum(page.count("```python") for page in PAGES) == len(EXAMPLES)


@pytest.mark.parametrize("title", [title for title, (program, _) in EXAMPLES.items() if OWN_SERVER not in program])
def test_an_example_prints_what_the_page_says(title):
    assert output_of(EXAMPLES[title][0]) == as_printed(title)


@pytest.fixture
def own_server():
    async def started():
        zone = ProcessZone("own")
        await zone.start()
        return zone

    with asyncio.Runner() as runner:
        zone = runner.run(started())
        try:
            yield f"redis://{zone.address}"
        finally:
            runner.run(zone.stop())


@pytest.mark.parametrize("title", [title for title, (program, _) in EXAMPLES.items() if OWN_SERVER in program])
def test_an_example_with_a_server_of_ones_own_works_on_one(title, own_server):
    assert output_of(EXAMPLES[title][0].replace(OWN_SERVER, own_server)) == as_printed(title)
