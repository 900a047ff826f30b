"""Pages as a test reads them: parsed, judged by their own policy, and opened in Chromium."""

import base64
import hashlib
import html
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from support.programs import HANGS_S

QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")


class Page(HTMLParser):
    """The tags, attributes and text of a page; ``scripts``: what a browser would run, if the policy lets it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"] and "type" not in self.tags[-1][1]:
            self.scripts.append(data)
        else:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def strays(self) -> list[str]:
        """Scripts, handlers and addresses that a browser may run or load and that the page does not account for."""
        (policy,) = (one["content"] or "" for one in self.named("meta") if "http-equiv" in one)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in self.scripts]
        found = [text for text, digest in zip(self.scripts, hashes, strict=True) if f"'sha256-{digest}'" not in policy]
        for tag, attributes in self.tags:
            for name, value in attributes.items():
                inside = (value or "").startswith(("#", "data:image/", "../")) or name not in ("src", "href")
                if name.startswith("on") or not inside:
                    found.append(f"{tag} {name}={value}")
        return found


def dumped(page: str, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What Chromium makes of ``page``."""
    chromium = shutil.which("chromium")
    assert chromium is not None
    plain = ("--headless", "--no-sandbox", "--disable-gpu", *QUIET, f"--user-data-dir={profile}", "--dump-dom")
    return subprocess.run(
        [chromium, *plain, *options, page], capture_output=True, text=True, timeout=HANGS_S, check=True
    )


_FRAME = """<style>body {{ margin: 0 }} iframe {{ border: 0; width: {width}px; height: 4000px }}</style>
<iframe src="{page}"></iframe><pre></pre><script>
onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
  document.querySelector("pre").textContent = JSON.stringify((() => {{ {script} }})());
}};
</script>"""


def asked(page: Path, folder: Path, script: str, *, width: int = 1280, dark: bool = False) -> Any:
    """What ``script``, which knows the document as ``page``, returns in a window of ``width`` pixels."""
    frame = folder / "frame.html"
    frame.write_text(_FRAME.format(width=width, page=page.as_uri(), script=script), encoding="utf-8")
    scheme = ("--blink-settings=preferredColorScheme=0",) if dark else ()
    done = dumped(frame.as_uri(), folder / "profile", "--allow-file-access-from-files", *scheme)
    return json.loads(html.unescape(done.stdout.partition("<pre>")[2].partition("</pre>")[0]))
