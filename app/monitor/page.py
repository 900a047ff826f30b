"""The page: one file, whose script is named by its hash and asks nobody but the server it came from."""

from functools import cache

from zonelab.analysis.pages import REPORT_SCRIPTS, Script, environment

PAGE_PATH = "/"
_SCRIPTS = ("monitor_tables.js", "monitor_strips.js", "monitor_faults.js", "monitor.js")


def address_of(served_at: str, *, token: str) -> str:
    """Return where a browser opens the page; the token is in the fragment, which it sends to nobody."""
    return f"{served_at}{PAGE_PATH}#token={token}"


@cache
def page() -> str:
    """The HTML of the live page."""
    return (
        environment()
        .get_template("monitor.html")
        .render(title="zonelab monitor", scripts=_scripts(), report_hash=Script.of_templates(*REPORT_SCRIPTS).hash)
    )


def policy() -> str:
    """The Content-Security-Policy that comes with the page; unlike the one in it, it also forbids frames.

    A report that the page has kept and opens is under this policy, too, so its script and pictures are allowed.
    """
    allowed = " ".join(f"'{script.hash}'" for script in (*_scripts(), Script.of_templates(*REPORT_SCRIPTS)))
    return (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def _scripts() -> tuple[Script, ...]:
    return tuple(Script.of_template(name) for name in _SCRIPTS)
