"""Goal: every public function, class, method and property says what it is for, with an example that runs.

Method: what the public modules name is found by looking (tests/support/public_members.py); examples run in simulation,
those that need servers in tests/real/public.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.public_members import NEED_NO_EXAMPLE, Member, examples, lacks, members, members_of, run_example

MEMBERS = {member.name: member for member in members()}


@pytest.fixture(scope="module", autouse=True)
def folder_of_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for all: a hunt that is made again goes on from there."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("examples"))
    yield
    os.chdir(before)


def test_what_leads_to_what_is_found():
    found = {"connect", "BlockingServer.execute", "DelayQueue.pop", "BlockingDelayQueue.pop", "AsyncCluster.verdict"}
    assert (
        found | {"BlockingGroupMembership.start", "BlockingFault.close", "HuntResult.judged", "Site"} <= MEMBERS.keys()
    )


def test_everything_public_has_a_docstring_and_an_example():
    assert [fault for member in members() for fault in lacks(member)] == []


@dataclass
class Planted:
    """A class with a field that it does not explain.

    Example::

        queue = Planted(explained=1)
        ...
    """

    explained: int = 0

    def pop(self, count: int) -> int:
        """Return ``count``.

        Args:
            count: a number.
        """
        return count

    def peek(self, count: int, other: int) -> int:
        """Return ``count``. Raises ``ValueError``, never because of ``other``.

        Args:
            count: a number, unlike other.

        Example::

            print(queue.explained)  # 1
        """
        return count

    def push(self, count: int) -> int:
        """Push ``count``.

        Raises:
            ValueError: if count: never.

        Example::

            print(queue.explained)  # 2
        """
        return count

    def bare(self) -> None: ...


def test_what_is_missing_is_found():
    planted = Member(name="Planted", value=Planted)
    methods = {member.name: member for member in members_of(planted, ours=__name__)}
    assert lacks(planted) == ["Planted: no 'explained'"]
    assert lacks(methods["Planted.pop"]) == ["Planted.pop: no example"]
    assert lacks(methods["Planted.peek"]) == ["Planted.peek: no 'other'", "Planted.peek: an error outside of Raises"]
    assert lacks(methods["Planted.push"]) == ["Planted.push: no 'count'", "Planted.push: not what it returns"]
    assert lacks(methods["Planted.bare"]) == ["Planted.bare: no docstring"]


def test_what_needs_no_example_is_there_and_has_none():
    last = {name.rpartition(".")[2]: member for name, member in MEMBERS.items()}
    listed = {name: MEMBERS.get(name) or last.get(name) for name in NEED_NO_EXAMPLE}
    assert [name for name, member in listed.items() if member is None or member.program] == []


@pytest.mark.parametrize("program", examples(on_servers=False))
def test_an_example_runs_and_prints_what_it_says(program, request):
    run_example(program, request)


def test_an_example_that_prints_something_else_is_found(request):
    planted = Member(name="Planted.push", value=Planted.push, owner=Planted)
    program = f"from types import SimpleNamespace as Planted\n{planted.program}"
    assert program.endswith("queue = Planted(explained=1)\nprint(queue.explained)  # 2")
    with pytest.raises(AssertionError, match=r"printed:\n1$"):
        run_example(program, request)
