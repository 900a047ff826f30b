"""Time for which a queue of the real RocketMQ has no owner: what ``fifo_handover.py`` is compared with.

Needs Linux, Java 17 and Maven, which downloads RocketMQ. A name server, one broker and the clients of a try run on this
machine. Divided by 20 are the leases (3 s at the broker, 1.5 s at a client), renewal and rebalance (1 s), heartbeat
(1.5 s), flush of offsets (250 ms) and the silence after which the broker closes a connection (6 s). The limit of an
idle pull stays: divided it is shorter than a long poll, and owners would give their queues up.

A try: m and n are consumers that own one queue each, a message takes 100 ms. At a drawn moment in the first half of a
message something happens to m, and the time until n begins a message of m's queue is taken; in ``graceful stop`` it
counts from when m begins to shut down. In ``join`` there is no n: a, who stands before m in the order of names, starts,
and the time counts from when its start is complete. In ``stop while a revoke waits`` a message takes longer than the
try, a joins, and m is stopped 0.7 s later; it counts from when m begins to shut down. ``closed or left`` is the time
until the kernel closed what a killed m had open; of a stop, from m's request to unlock to the one to leave its group.
``locked again``: tries in which m asked for locks between the two. Tries beside each other begin when all Java machines
are up.

    .venv/bin/python benchmarks/rocketmq/handover.py [--release 4.9.4] [--events EVENT ...] [--tries 24] [--beside 4]
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from environment import environment  # noqa: E402
from fifo_handover import EVENTS, GIVEN_UP_S, LONG_WORK_MS, REVOKED_S, WORK_MS  # noqa: E402

from zonelab.cluster.real.zones.port import HOST, PortReservation  # noqa: E402
from zonelab.cluster.real.zones.process import launcher  # noqa: E402

NAME_SERVER_RELEASE = "4.9.4"
"""It is not published for every release of the broker, and has nothing to do with locks."""

MESSAGES = 800
M_BEGUN, N_BEGUN = "begun 0", "begun 1"
"""A message of the queue that m owns, and of n's."""

FIRST_FLUSH_S = 10.0
"""After the start of a client. It cannot be set."""

LAUNCHER = [sys.executable, launcher.__file__, str(os.getpid())]
REFLECTION = [
    *("--add-opens", "java.base/java.nio=ALL-UNNAMED", "--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"),
    *("--add-opens", "java.base/java.lang=ALL-UNNAMED", "--add-opens", "java.base/jdk.internal.ref=ALL-UNNAMED"),
    *("--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED"),
]
"""RocketMQ was written for Java 8, and since 16 the JDK's own classes are closed to it."""

TIMES = [
    "-Drocketmq.broker.rebalance.lockMaxLiveTime=3000",
    "-Drocketmq.client.rebalance.lockMaxLiveTime=1500",
    "-Drocketmq.client.rebalance.lockInterval=1000",
    "-Drocketmq.client.rebalance.waitInterval=1000",
    "-Drocketmq.client.rebalance.minInterval=50",
    "-Drocketmq.client.unlockDelayTimeMills=1000",
]


class Program:
    """A Java program, and when it said what about itself. It dies with this one."""

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        said = ("up", "started", M_BEGUN, N_BEGUN, "stopping", "lock", "unlock", "leave")
        self.said_s: dict[str, list[float]] = {each: [] for each in said}
        self.closed_s: float | None = None
        self._errors = folder / f"{name}.err"
        home = [f"-Duser.home={folder}", f"-Djava.io.tmpdir={folder}"]
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*LAUNCHER, str(shutil.which("java")), *home, *TIMES, *REFLECTION, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
                env={**os.environ, "ROCKETMQ_HOME": str(folder)},
                start_new_session=True,
            )
        assert self.process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, output: IO[str]) -> None:
        for line in output:
            if (times_s := self.said_s.get(line.strip())) is not None:
                times_s.append(time.monotonic())
        self.closed_s = time.monotonic()

    @property
    def begun(self) -> int:
        """Messages of m's queue."""
        return len(self.said_s[M_BEGUN])

    def first_s(self, said: str) -> float:
        """When it said so first; waits for it."""
        self.wait_for(lambda: bool(self.said_s[said]), f"first '{said}'")
        return self.said_s[said][0]

    def begin(self) -> None:
        """Let a consumer that is up join its group."""
        assert self.process.stdin is not None
        self.process.stdin.write("begin\n")
        self.process.stdin.flush()
        self.first_s("started")

    def wait_for(self, happened: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + GIVEN_UP_S
        while not happened():
            if self.closed_s is not None:
                raise ChildProcessError(f"{self.name} ended before its {what}: {self._errors.read_text()[-2_000:]}")
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{what} of {self.name} did not come within {GIVEN_UP_S} s")
            time.sleep(0.001)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()


class Rocketmq:
    """A name server and one broker, in a folder of their own."""

    def __init__(self, release: str, folder: Path) -> None:
        self.folder = folder
        self._jars = jars_of("rocketmq-broker", release, folder)
        self._names_jars = jars_of("rocketmq-namesrv", NAME_SERVER_RELEASE, folder)
        subprocess.run(["javac", "-cp", self._jars, "-d", str(folder), str(HERE / "OrderlyClient.java")], check=True)
        self._names_port, self._broker_port = PortReservation(None), PortReservation(None)
        (folder / "conf").mkdir()
        for server in ("namesrv", "broker"):
            (folder / "conf" / f"logback_{server}.xml").write_text("<configuration/>")
        (folder / "names.conf").write_text(f"listenPort={self._names_port.port}\n")
        (folder / "broker.conf").write_text(
            f"namesrvAddr={self.names}\nbrokerIP1={HOST}\nlistenPort={self._broker_port.port}\n"
            f"storePathRootDir={folder}/store\nstorePathCommitLog={folder}/store/commitlog\n"
            "mappedFileSizeCommitLog=67108864\ndefaultTopicQueueNums=2\nserverChannelMaxIdleTimeSeconds=6\n"
            "waitTimeMillsInSendQueue=60000\nregisterNameServerPeriod=10000\n"
        )
        self.one_producer = threading.Lock()
        """Lock of whoever makes a topic: of those that are made at the same time the name server may never hear."""
        self._programs = ExitStack()
        self._clients: list[Program] = []

    @property
    def names(self) -> str:
        return f"{HOST}:{self._names_port.port}"

    def start(self) -> None:
        self._serve("names", self._names_jars, "org.apache.rocketmq.namesrv.NamesrvStartup", self._names_port.port)
        self._serve("broker", self._jars, "org.apache.rocketmq.broker.BrokerStartup", self._broker_port.port)

    def _serve(self, name: str, jars: str, main: str, port: int) -> None:
        command = ["-Xmx1g", "-cp", jars, main, "-c", f"{name}.conf"]
        program = self._programs.enter_context(closing(Program(name, command, self.folder)))
        program.wait_for(lambda: listens(port), f"port {port}")

    def client(self, role: str, topic: str, *arguments: str) -> Program:
        command = ["-cp", f"{self.folder}:{self._jars}", "OrderlyClient", role, self.names, topic, *arguments]
        client = Program(f"{topic}-{arguments[0]}", command, self.folder)
        self._clients.append(client)
        return client

    def kill_clients(self) -> None:
        for client in self._clients:
            client.process.kill()

    def close(self) -> None:
        self._programs.close()
        self._names_port.release()
        self._broker_port.release()


def jars_of(part: str, release: str, folder: Path) -> str:
    """The class path of a part of RocketMQ and of what it needs, copied by Maven."""
    jars = folder / f"{part}-{release}"
    copy = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), f"-Dpart={part}", f"-Drelease={release}"]
    subprocess.run([*copy, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], check=True, stdout=sys.stderr)
    return f"{jars}/*"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


@dataclass(frozen=True)
class Took:
    """Seconds until the successor begins. ``away_s``: until what m had open was closed, or m left its group."""

    begun_s: float
    away_s: float | None = None
    locked_again: bool = False


def one_try(rocketmq: Rocketmq, event: str, topic: str, all_up: threading.Barrier) -> Took:
    drawn = random.Random(topic)
    waits = event == "stop while a revoke waits"
    joins = event == "join" or waits
    work_ms = LONG_WORK_MS if waits else WORK_MS
    try:
        with rocketmq.one_producer, closing(rocketmq.client("produce", topic, str(MESSAGES))) as producer:
            producer.first_s("started")
        with ExitStack() as programs:
            m, other = consumers = [
                programs.enter_context(closing(rocketmq.client("consume", topic, name, str(work_ms))))
                for name in ("m", "a" if joins else "n")
            ]
            for each in consumers:
                each.first_s("up")
            all_up.wait(GIVEN_UP_S)
            m.begin()
            time.sleep(drawn.uniform(0.5, 1.5))
            if not joins:
                other.begin()
                other.first_s(N_BEGUN)
            happens_s = m.first_s("started") + drawn.uniform(5, 9) + (FIRST_FLUSH_S if event == "kill after it" else 0)
            m.wait_for(lambda: time.monotonic() > happens_s, "moment")
            if waits:
                other.begin()
                time.sleep(REVOKED_S)
                return stopped(m, other)
            return joined(other) if joins else taken(event, m, other, drawn)
    except BaseException:
        all_up.abort()
        raise


def joined(a: Program) -> Took:
    a.begin()
    return Took(a.first_s(M_BEGUN) - a.first_s("started"))


def stopped(m: Program, successor: Program) -> Took:
    if successor.begun:
        raise RuntimeError(f"{m.name} is of no use: its successor began before it was stopped")
    m.process.send_signal(signal.SIGTERM)
    stopping_s, left_s = m.first_s("stopping"), m.first_s("leave")
    begun_s = successor.first_s(M_BEGUN) - stopping_s
    unlocked_s = next((each for each in m.said_s["unlock"] if each > stopping_s), left_s)
    return Took(begun_s, left_s - unlocked_s, any(unlocked_s < each < left_s for each in m.said_s["lock"]))


def taken(event: str, m: Program, n: Program, drawn: random.Random) -> Took:
    seen = m.begun
    m.wait_for(lambda: m.begun > seen, "next message")
    time.sleep(drawn.uniform(0, 0.5) * WORK_MS / 1_000)
    happens_s = time.monotonic()
    flushed = happens_s - m.first_s("started") > FIRST_FLUSH_S
    if n.begun or (event.startswith("kill") and flushed is not (event == "kill after it")):
        raise RuntimeError(f"{m.name} is of no use: n began {n.begun} messages before, flushed: {flushed}")
    if event == "graceful stop":
        return stopped(m, n)
    m.process.send_signal(signal.SIGSTOP if event == "standing still" else signal.SIGKILL)
    begun_s = n.first_s(M_BEGUN) - happens_s
    return Took(begun_s, None if m.closed_s is None else m.closed_s - happens_s)


def tries_of(rocketmq: Rocketmq, event: str, tries: int, beside: int) -> list[Took]:
    done: list[Took] = []
    while len(done) < tries:
        numbers = range(len(done), min(len(done) + beside, tries))
        all_up = threading.Barrier(len(numbers))
        with ThreadPoolExecutor(len(numbers)) as pool:
            topics = [f"{event}-{number}".replace(" ", "-") for number in numbers]
            futures = [pool.submit(one_try, rocketmq, event, topic, all_up) for topic in topics]
            try:
                wait(futures)
            except KeyboardInterrupt:
                rocketmq.kill_clients()
                raise
        errors = [error for future in futures if (error := future.exception())]
        for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
            raise error
        done += [future.result() for future in futures]
    return done


def row(release: str, event: str, tries: Sequence[Took]) -> str:
    took_s = [each.begun_s for each in tries]
    away_ms = [1_000 * each.away_s for each in tries if each.away_s is not None]
    told = f"{min(away_ms):.0f} / {median(away_ms):.0f} / {max(away_ms):.0f}" if away_ms else "–"
    seen = f"{min(took_s):.2f} / {median(took_s):.2f} / {max(took_s):.2f}"
    again = sum(each.locked_again for each in tries)
    return f"| {release} | {event} | {len(tries)} | {seen} | {told} | {again} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="4.9.4")
    parser.add_argument("--events", nargs="+", choices=EVENTS, default=EVENTS)
    parser.add_argument("--tries", type=int, default=24)
    parser.add_argument("--beside", type=int, default=4)
    options = parser.parse_args()
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            parser.error(f"{tool} is needed and not on the PATH: install Java 17 and Maven")
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    print(json.dumps({**environment(), "java": java, "beside": options.beside}))
    print("| release | event | tries | s: least / median / most | ms, closed or left: the same | locked again |")
    print("|---|---|---|---|---|---|", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="zonelab-rocketmq-") as folder,
        closing(Rocketmq(options.release, Path(folder))) as rocketmq,
    ):
        rocketmq.start()
        for event in options.events:
            print(row(options.release, event, tries_of(rocketmq, event, options.tries, options.beside)), flush=True)


if __name__ == "__main__":
    main()
