"""Goal: the examples in public docstrings that need servers work on them. Method: as in
tests/unit/zonelab/test_docstrings.py, with a server of the test's own in place of the one that they name.
"""

import pytest
import redis
from support.public_members import OWN_SERVER, examples, run_example

from zonelab.testing import cluster

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def server_url():
    with cluster("process", zones=("a",)) as lab:
        yield lab.server_urls["a"]


@pytest.mark.parametrize("program", examples(on_servers=True))
def test_an_example_works_on_servers(program, server_url, request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    redis.Redis.from_url(server_url).flushall()
    run_example(program.replace(OWN_SERVER, server_url), request)
