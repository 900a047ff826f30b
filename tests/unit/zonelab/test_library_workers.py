"""Goal: libraries' own workers run whole in simulation. Method: a worker is killed; a planted loss is found.

Of the libraries only saq is installed with the others of the tests; pip install --no-deps brings the rest.
"""

import re
from pathlib import Path

import pytest
from support.library_workers.libraries import NAMES, library
from support.library_workers.story import outcome

pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")

PAGE = Path(__file__).parents[3] / "docs" / "library-workers.md"
SEEDS = range(1, 6)
LOSES_WHAT_A_DEAD_WORKER_HAD = ("taskiq-list", "taskiq-stream")


def missing(worker, seeds=SEEDS):
    return [outcome(worker, zones=("a",), level="DC_ONE", seed=seed).missing for seed in seeds]


def installed(name):
    pytest.importorskip(name.partition("-")[0])
    return library(name)


@pytest.mark.parametrize("name", NAMES)
def test_jobs_of_a_killed_worker_are_carried_out_by_another_where_the_library_keeps_them(name):
    assert any(missing(installed(name))) == (name in LOSES_WHAT_A_DEAD_WORKER_HAD)


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_outcomes_and_traces_also_with_several_zones(name):
    worker = installed(name)
    first, second, other = (outcome(worker, zones=("a", "b"), level="DC_QUORUM", seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert first.trace != other.trace


def test_a_queue_that_forgets_what_it_took_is_found(monkeypatch):
    worker = installed("saq")
    from saq.queue.redis import RedisQueue

    class ForgetsWhatItTook(RedisQueue):
        async def dequeue(self, timeout=0.0, poll_interval=0.0):
            _, job_id = await self.redis.blpop(self.namespace("queued"), timeout)
            return await self.job(self.job_key_from_id(job_id.decode()))

    monkeypatch.setattr("support.library_workers.saq_worker.QUEUE_CLASS", ForgetsWhatItTook)
    assert any(missing(worker))


def test_the_example_of_the_page_works():
    pytest.importorskip("saq")
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names = {}
    exec(example, names)
    names["test_a_job_of_a_worker_that_dies_is_carried_out_by_another"]()
