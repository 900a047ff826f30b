"""Goal: every known failure that ships can be run at any version, with its fault and without, and names what it is.

Method: the scenarios that its folder makes, without running them.
"""

import pytest
from support.project_files import ROOT

from zonelab.scenarios.arms import Arm
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.guests.guest import guest_names, load_guest
from zonelab.studies.known.attempts import settings_of
from zonelab.studies.known.failure import failure_names, load_failure

IN_SIMULATION = [name for name in failure_names() if load_failure(name).versions]
OF_PROGRAMS = [name for name in failure_names() if name not in IN_SIMULATION]


@pytest.mark.parametrize("name", failure_names())
def test_its_scenario_has_the_fault_and_its_control_has_not(name: str) -> None:
    failure = load_failure(name)
    broken, control = failure.run_of(failure.affected), failure.run_of(failure.affected, control=True)
    assert broken != control
    assert bool(broken.programs) is (broken.arm is Arm.REAL) is (name in OF_PROGRAMS)
    assert set(failure.shows) <= {
        *broken.forbidden,
        *control.forbidden,
        "redelivered",
        "late",
        "overlap",
        "concurrent",
        "orphan",
    }


@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_its_programs_are_of_the_version_that_is_asked_for(name: str) -> None:
    programs = load_failure(name).run_of("9.8.7", level="DC_QUORUM", seed=3).programs.values()
    asked = [load_guest(one.guest).folder for one in programs if one.version == "9.8.7" and one.guest is not None]
    assert asked, "no program is of the queue"


@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_on_three_zones_replicas_lie_between_its_producer_and_all_else(name: str) -> None:
    failure = load_failure(name)
    scenario = failure.run_of(failure.affected, level="DC_QUORUM", zones=3)
    assert scenario.zones == ("a", "b", "c")
    assert {name: one.zone for name, one in scenario.programs.items() if one.ends} == {"producer": "a"}
    assert {one.zone for one in scenario.programs.values() if not one.ends} == {"b"}


@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_its_queue_is_a_guest_or_it_has_its_own_programs(name: str) -> None:
    failure = load_failure(name)
    assert failure.queue in guest_names() or (failure.folder / "guest.yaml").is_file()
    assert failure.folder.is_relative_to(ROOT / "studies") or failure.folder.name == name


@pytest.mark.parametrize("name", IN_SIMULATION)
def test_its_engine_has_the_options_of_the_version_that_is_asked_for(name: str) -> None:
    failure = load_failure(name)
    queues = [failure.run_of(version, zones=3).queue for version in failure.versions]
    assert {failure.affected, failure.newest} <= set(failure.versions)
    assert len({str(one) for one in queues}) == len(queues)
    assert failure.run_of(failure.affected, zones=3, level="DC_QUORUM").zones == ("a", "b", "c")
    with pytest.raises(NotAccepted, match=r"^version: got 'v0\.5' \(did you mean v0\.4\?\); accepted: v0\.4, default$"):
        failure.run_of("v0.5")


def test_a_row_of_the_table_is_the_affected_version_the_newest_and_the_control() -> None:
    failure = load_failure("rq-1716")
    named = [one.name for one in settings_of(failure, version=None, control=False, level=None)]
    assert named == [failure.affected, failure.newest, f"{failure.affected} control"]
    (one,) = settings_of(failure, version="2.6.0", control=True, level="DC_QUORUM", zones=3)
    assert one.name == "2.6.0 control DC_QUORUM 3 zones"


def test_a_name_that_is_none_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotAccepted, match=r"^known: got 'rq-1761' \(did you mean rq-1716\?\); accepted: .*rq-1716"):
        load_failure("rq-1761")
