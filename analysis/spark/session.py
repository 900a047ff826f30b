"""A Spark session that keeps to itself: quiet, on the loopback interface, no UI, no files left, always stopped."""

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import IO, Any

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

JAVA_VERSION_MIN = 17
_STOP_TIMEOUT_S = 20
_ANSWER_S = 10.0
_ENDS_S = 1.0
_LOOK_S = 0.1

NO_EXECUTOR_S = 60.0
"""A master that gives no executor for so long has none to give."""

ROWS_PER_PART = 250_000
"""Rows of a history in one part of a divided table: what one task holds at once, however many rows there are."""

READ_AT_ONCE = "8m"
"""Bytes of compressed files that are read at once: a million rows of a history have some 13 MB."""

HEAP_MB, HEAP_MB_PER_MILLION, HEAP_MB_MAX = 1024, 180, 2800
"""Heap of Java. With all that it takes besides its heap, and Python, the largest stays below 4 GB."""

_KEPT_AS_ROWS = "spark.zonelab.keptAsRows"
INTERPRETED: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.constraintPropagation.enabled": "false",
        _KEPT_AS_ROWS: "true",
    }
)
"""Settings with which Spark interprets queries as they were planned at first, on one machine: to write, compile and
load a class for each expression, to plan again after each stage, and to derive what holds of columns takes far longer
than a few thousand rows do."""

_BRIEF = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
"""Java then compiles once and quickly, which costs half of the processor time of a run of a few thousand rows, and does
not verify Spark's own classes, which costs a tenth of what is left."""

_LONG = ("-XX:+UseParallelGC",)
"""Options that choose Java's collector with the least processor time; nobody waits for its pauses."""


class JavaMissing(Exception):
    """Spark cannot start because there is no suitable Java. The message is one line that says what to install."""


class SparkFailed(Exception):
    """Spark did not start, or a job of it failed. The message is one line."""


@contextmanager
def spark_session(
    *,
    master: str = "local[*]",
    app_name: str = "zonelab",
    brief: bool = False,
    nice: int = 0,
    rows: int = 0,
    settings: Mapping[str, str] = MappingProxyType({}),
    begins: Callable[[], None] = lambda: None,
) -> Iterator[SparkSession]:
    """A session on ``master``; its JVM ends with the block. Raises ``JavaMissing`` or ``SparkFailed``.

    ``brief``: for so little data that starting Java costs more than the work does. ``nice``: by how much Spark comes
    after other programs of this machine, as of nice(1). ``rows``: about so many are worked on, which decides, on this
    machine, how much memory Java may take and into how many parts tables are divided. ``settings``: of Spark, as in
    ``spark-submit --conf``; they come before those that are made here. ``begins`` is called when Java and the master
    are there, before Spark starts. Ctrl-C raises ``KeyboardInterrupt`` within the block, as everywhere.

    One at a time in a process: Spark itself has no room for two.
    """
    require_java()
    _must_answer(master)
    begins()
    with TemporaryDirectory(prefix="zonelab-spark-") as folder, (Path(folder) / "spark.log").open("w+b") as log:
        conf = _configuration(master, app_name, Path(folder), brief=brief, rows=rows).setAll(list(settings.items()))
        try:
            gateway = _launched(conf, nice=nice, stderr=log, stdout=log, cwd=folder)
        except Exception as error:
            raise SparkFailed(f"Spark did not start: {_last_line(log) or error}") from error
        try:
            with _session(conf, gateway, log) as session:
                yield session
        except Exception as error:
            if isinstance(error, SparkFailed) or not _has_ended(gateway):
                raise
            why = _last_line(log) or "it says nothing"
            raise SparkFailed(f"Java ended in the middle of the work: {why}") from error
        finally:
            _end_jvm(gateway)


def _has_ended(gateway: JavaGateway) -> bool:
    """Return whether Java is gone; a process that has lost its connections may still be ending."""
    if gateway.proc is None:
        return False
    try:
        gateway.proc.wait(_ENDS_S)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextmanager
def _session(conf: SparkConf, gateway: JavaGateway, log: IO[bytes]) -> Iterator[SparkSession]:
    handler = signal.getsignal(signal.SIGINT)
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)  # Spark's own would talk to Java in the middle of what is being said
        context.setLogLevel("ERROR")
        session = SparkSession(context)
    except Exception as error:
        raise SparkFailed(f"no Spark session on master {conf.get('spark.master')!r}: {_last_line(log)}") from error
    try:
        if str(context.master).startswith("spark:") and conf.get("spark.dynamicAllocation.enabled") != "true":
            _await_executor(context)
        yield session
    finally:
        on_a_line_of_its_own(session.stop)


def _launched(conf: SparkConf, *, nice: int, **started: Any) -> JavaGateway:
    """On Linux only the thread that asks becomes nicer, and whatever it starts: so a thread starts Java."""
    with ThreadPoolExecutor(
        1, initializer=lambda: os.setpriority(os.PRIO_PROCESS, 0, nice) if nice else None
    ) as thread:
        return thread.submit(launch_gateway, conf, popen_kwargs=started).result()


def _await_executor(context: SparkContext) -> None:
    """Without one the first job would wait for ever. Raises ``SparkFailed``."""
    until_s = time.monotonic() + NO_EXECUTOR_S
    while not has_executor(context):
        if time.monotonic() > until_s:
            raise SparkFailed(f"{context.master} gave no executor in {NO_EXECUTOR_S:.0f} s")
        time.sleep(_LOOK_S)


def has_executor(context: SparkContext) -> bool:
    infos = context._jsc.sc().statusTracker().getExecutorInfos()
    return len(infos) > 1  # the driver is one of them


def on_a_line_of_its_own(call: Callable[[], object]) -> None:
    """Call it in a thread, which talks to Java on its own: after Ctrl-C there may be an answer on the line of this one
    that nobody took, and it would be taken for the answer to the next call.
    """
    with ThreadPoolExecutor(1) as thread:
        thread.submit(call).result()


def _configuration(master: str, app_name: str, folder: Path, *, brief: bool, rows: int) -> SparkConf:
    logging = folder / "log4j2.properties"
    logging.write_text("rootLogger.level = error\n", encoding="ascii")
    java = [
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        f"-Dderby.system.home={folder}",
        *(_BRIEF if brief else _LONG),
    ]
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
    }
    if master.startswith("local"):
        parts = 1 if brief else max(2, os.cpu_count() or 2, ceil(rows / ROWS_PER_PART))
        settings["spark.sql.shuffle.partitions"] = str(parts)
        settings["spark.sql.files.maxPartitionBytes"] = READ_AT_ONCE
        settings["spark.driver.memory"] = f"{min(HEAP_MB_MAX, HEAP_MB + rows * HEAP_MB_PER_MILLION // 1_000_000)}m"
    else:
        # Executors on other machines must find the driver: leave the addresses to the environment.
        del settings["spark.driver.bindAddress"], settings["spark.driver.host"]
    return SparkConf().setMaster(master).setAppName(app_name).setAll(list(settings.items()))


def kept(table: DataFrame) -> DataFrame:
    """``table``, but computed once, by the first query that needs it, however many do.

    If queries are ``INTERPRETED``, as rows of this machine that have no plan any more, since planning is what takes
    time there. Otherwise in Spark's cache, which is computed again if an executor is lost.
    """
    as_rows = table.sparkSession.conf.get(_KEPT_AS_ROWS, "false") == "true"
    return table.localCheckpoint(eager=False) if as_rows else table.cache()


def require_java() -> None:
    """Raise ``JavaMissing`` unless Java 17 or newer is installed where Spark will look for it."""
    wanted = f"Spark needs Java {JAVA_VERSION_MIN} or newer"
    install = "install it, for example with: apt-get install openjdk-17-jre-headless"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or (home and not Path(java).exists()):
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java command"
        raise JavaMissing(f"{wanted}, and {where}: {install}")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', shown)
    if found is None or int(found[1]) < JAVA_VERSION_MIN:
        version = found[0] if found else "of unknown version"
        raise JavaMissing(f"{wanted}, and {java} is {version.removeprefix('version ')}: {install}")


def _must_answer(master: str) -> None:
    """Spark itself asks a standalone master again and again for a minute. Raises ``SparkFailed``."""
    scheme, _, given = master.partition("://")
    if scheme != "spark":
        return
    why: list[str] = []
    for address in given.split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S).close()
        except (OSError, ValueError) as error:
            why.append(f"{address}: {error}")
        else:
            return
    raise SparkFailed(f"no Spark session on master {master!r}: {'; '.join(why)}")


def _end_jvm(gateway: JavaGateway) -> None:
    """Spark would keep its JVM until Python ends; forget it and let it go now.

    A JVM without a process of ours is that of ``spark-submit``, which began us and ends after us.
    """
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None  # which stays if Java died: nothing could begin after it
    gateway.shutdown()
    if gateway.proc is None:
        return
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def _last_line(log: IO[bytes]) -> str:
    """The last line of the log that says what went wrong, rather than where."""
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "...", "\t"))]
    return said[-1] if said else ""
