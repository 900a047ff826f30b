"""Processes of the user's own (``zonelab.scenarios.spec.own_process``) in a simulated run."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from zonelab.engine.ports import Promise, Runtime
from zonelab.scenarios.clients.consumers import Work, WorkOf
from zonelab.scenarios.clients.producers import ZoneProducer
from zonelab.scenarios.clients.recorder import OperationActor
from zonelab.scenarios.spec.own_process import process_of
from zonelab.scenarios.spec.push_plan import Compose, composer
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.tasks import Halt

if TYPE_CHECKING:
    from zonelab.scenarios.clients.guests import Guests, Push


def guests_of(scenario: Scenario, runtime: Runtime, halt: Halt) -> "Guests | None":
    """None where there are none, or time is real: there arrivals are drawn beforehand (``plan_pushes``)."""
    if scenario.load.arrivals is None and scenario.consumers.work is None:
        return None
    from zonelab.cluster.sim.runtime import SimRuntime
    from zonelab.scenarios.clients.guests import Guests

    return Guests(runtime, halt) if isinstance(runtime, SimRuntime) else None


def own_arrivals(guests: "Guests", scenario: Scenario, runtime: Runtime, producers: Mapping[str, ZoneProducer]) -> None:
    """Let the process of ``load.arrivals`` push in every zone, from the begin of the load on."""
    named = scenario.load.arrivals
    assert named is not None, "the scenario has arrivals of its own"
    for zone, producer in producers.items():
        compose = composer(scenario.load, zone=zone, random=runtime.random)
        guests.arrivals(process_of(named), named, zone=zone, push=_push(producer, compose, runtime))


def _push(producer: ZoneProducer, compose: Compose, runtime: Runtime) -> "Push":
    def push(count: int, *, delay_ms: int | None, priority: int | None, then: Callable[[bool], object]) -> None:
        messages = compose(count, delay_ms=delay_ms, priority=priority)
        producer.begin(messages, intended_ns=runtime.now_ns(), then=lambda left: then(not left))

    return push


def own_work(guests: "Guests | None", scenario: Scenario, runtime: Runtime) -> WorkOf | None:
    """Return what a consumer does with a message, if the scenario says so."""
    named = scenario.consumers.work
    if named is None or guests is None:
        return None
    process = process_of(named)

    def work_of(actor: OperationActor) -> Work:
        lab = guests.lab(actor.process, actor.zone)

        async def work(message_id: str) -> None:
            done: Promise[None] = runtime.promise()
            guests.work(process, named, lab, message_id, partial(done.set_result, None))
            await done

        return work

    return work_of
