"""Goal: ``zonelab verify`` finds in a Prometheus what its queries say, with the bucket that holds a percentile.

Method: Debian's Prometheus scrapes an exporter whose counters grow by the same with every scrape.
"""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from support.app.commands import zonelab_here
from support.programs import HANGS_S, until
from support.scenarios.sim_runs import SMALL

pytestmark = pytest.mark.prometheus

SECTION = {
    "objectives": ["p99(push) < 1s", "duplicates < 1e-3"],
    "verify": {
        "messages": "sum(increase(pushed_total[$window]))",
        "p50(push)": "histogram_quantile(0.5, sum by (le) (increase(push_seconds_bucket[$window])))",
        "p99(push)": "histogram_quantile(0.99, sum by (le) (increase(push_seconds_bucket[$window])))",
        "duplicates": "sum(increase(again_total[$window]))",
    },
}
BUCKETS = {"0.0005": 0, "0.005": 97, "0.05": 100, "+Inf": 100}
"""The buckets of a hundred pushes a scrape: the median is in the second, the 99th percentile in the third."""


@contextmanager
def exporter(again: int) -> Iterator[int]:
    """The port of a program with a hundred more pushes, and ``again`` more duplicates, at every scrape."""
    scrapes = count(1)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            times = next(scrapes)
            rows = [f'push_seconds_bucket{{le="{end}"}} {number * times}' for end, number in BUCKETS.items()]
            rows += [f"pushed_total {100 * times}", f"again_total {again * times}"]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(("\n".join(rows) + "\n").encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[str]:
    """The URL of a server that scrapes the port ``target`` five times a second."""
    scrape = {"job_name": "queue", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
    configuration = folder / "prometheus.yml"
    configuration.write_text(yaml.safe_dump({"global": {"scrape_interval": "200ms"}, "scrape_configs": [scrape]}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    program = shutil.which("prometheus")
    assert program is not None
    options = (f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}")
    process = subprocess.Popen(
        [program, *options, f"--web.listen-address={address}", "--log.level=error"], stderr=subprocess.DEVNULL
    )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(timeout=HANGS_S)


def scraped(url: str, query: str) -> float:
    """The value of ``query`` now; 0 while there is none."""
    asked = f"{url}/api/v1/query?{urlencode({'query': query})}"
    with suppress(URLError, ConnectionError), urlopen(asked) as answer:
        found = json.load(answer)["data"]["result"]
        return float(found[0]["value"][1]) if found else 0.0
    return 0.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("user")
    document = {**SMALL, "load": {"duration_s": 1, "rate_per_s": 30}, "evaluate": SECTION}
    (made / "rollout.yaml").write_text(yaml.safe_dump(document))
    zonelab_here("evaluate", "rollout.yaml", "--runs", "12", cwd=made)
    return made


@pytest.mark.parametrize(("again", "code"), [(0, 0), (50, 1)])
def test_production_in_prometheus_is_inside_or_outside(again: int, code: int, folder: Path, tmp_path: Path):
    with exporter(again) as target, prometheus(tmp_path, target) as url:
        until(lambda: scraped(url, "count_over_time(pushed_total[1h])") >= 12)
        begin, end = (scraped(url, f"{name}_over_time(timestamp(pushed_total)[1h:100ms])") for name in ("min", "max"))
        window = ("--from", f"{begin:.3f}", "--to", f"{max(end, begin + 2):.3f}")
        done = zonelab_here("verify", "rollout.yaml", "--prometheus", url, *window, "--json", cwd=folder)
    told = json.loads(done.stdout)
    assert done.returncode == code, told
    rows = {row["figure"]: row for row in told["figures"]}
    assert rows["p50(push)"]["seen"] == {"low": 0.0005, "high": 0.005}
    assert rows["p99(push)"]["seen"] == {"low": 0.005, "high": 0.05}
    assert rows["p99(push)"]["of"] > 100
    assert rows["duplicates"]["seen"]["low"] == pytest.approx(again / 100)
    assert rows["duplicates"]["status"] == ("outside" if again else "inside")
