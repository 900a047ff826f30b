"""Goal: clean-up survives cancellation and interpreter exit. Method: cancel at the worst moment, run
programs to their end."""

import asyncio
import signal
import subprocess
import sys

import pytest
from support.coroutines import coroutine
from support.programs import HANGS_S

from zonelab.cluster.real.zones.signals import termination_interrupts
from zonelab.cluster.real.zones.waiting import to_completion


@coroutine
async def test_a_cancelled_wait_lets_the_work_finish_and_is_cancelled_then():
    done = asyncio.Event()
    steps = []

    async def work():
        await done.wait()
        steps.append("finished")

    waiting = asyncio.ensure_future(to_completion(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    done.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert steps == ["finished"]


def test_a_wait_returns_what_the_work_returns_and_raises_what_it_raises():
    async def scenario():
        assert await to_completion(asyncio.sleep(0, "result")) == "result"
        with pytest.raises(ZeroDivisionError):
            await to_completion(fail())

    async def fail():
        raise ZeroDivisionError

    asyncio.run(scenario())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_interrupts_inside_the_block_and_the_default_is_back_after_it(number):
    with pytest.raises(KeyboardInterrupt), termination_interrupts():
        signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_program_that_handles_termination_itself_is_left_alone():
    handled = []
    previous = signal.signal(signal.SIGTERM, lambda *_: handled.append(True))
    try:
        with termination_interrupts():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert handled == [True]


PROGRAM = """
import os
from zonelab.cluster.real.zones import last_resort
last_resort.register("a", lambda: print("removed a", flush=True))
last_resort.register("b", lambda: 1 / 0)
last_resort.register("c", lambda: print("removed c", flush=True))
last_resort.forget("c")
if os.fork() == 0:
    raise SystemExit
os.wait()
print("end", flush=True)
"""


def test_at_exit_what_is_registered_is_removed_once_and_not_by_a_forked_child():
    program = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=HANGS_S, check=True
    )
    assert program.stdout == "end\nremoved a\n"
    assert program.stderr == ""
