"""The installed Chromium, driven by Playwright, and pages that a test serves to it."""

import asyncio
import contextlib
import shutil
import threading
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, TypedDict

from playwright.sync_api import Browser, Page, sync_playwright
from starlette.types import ASGIApp

from zonelab.cluster.admin.serving import serving

PATIENCE_MS = 30_000


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """While it is open, no test may run an event loop in this thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser: Browser, address: str, *, width: int = 1280, dark: bool = False) -> Iterator[Page]:
    """A page at ``address``; whatever it complains about, such as what its policy forbids, fails the test."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if "Security" in said.text else None)
    page.goto(address)
    yield page
    context.close()
    assert complaints == []


_AXE = """async () => {
  const { violations, incomplete } = await axe.run();
  const told = rules => rules.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 80)}`));
  const reasons = node => [...node.any, ...node.all, ...node.none].map(check => check.data?.messageKey ?? check.id);
  const open = incomplete.flatMap(rule => rule.nodes.flatMap(reasons).map(reason => `${rule.id}: ${reason}`));
  return { violations: told(violations), incomplete: [...new Set(open)].sort() };
}"""


class AxeResults(TypedDict):
    """``violations``: rules that a page breaks, with the elements; ``incomplete``: rules that only a person can judge
    there, each with why.
    """

    violations: list[str]
    incomplete: list[str]


def axe_results(page: Page) -> AxeResults:
    """Return what axe-core finds; it is given to the page by the driver, so that the page's own policy stays."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found: AxeResults = page.evaluate(_AXE)
    return found


class Served:
    """``app`` on a loopback port, in a thread with a loop of its own, until ``close``. ``port`` 0: any free one."""

    def __init__(self, app: ASGIApp, *, port: int = 0) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._serving = serving(app, host="127.0.0.1", port=port)
        self.address = self.run(self._serving.__aenter__())

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        self.run(self._serving.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
