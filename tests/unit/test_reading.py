"""Goal: thirty questions of people who know the field and not this code are answered from names and first lines.

Method: a reader who understands the question needs one guess; here words alone decide: modules whose path and first
line share most with the question come first, rare words counting more. The right one has to be among the first three.
"""

import ast
import math
import re
from collections import Counter

import pytest
from support.project_files import FOLDERS, ROOT, project_files

QUESTIONS = {
    "Where is it decided that a vote awaits a third reply?": "cluster/votes/vote.py::Vote",
    "Which rule does each consistency level have?": "cluster/votes/levels.py::LevelRule",
    "How does a coordinator serve connections?": "cluster/coordinators/coordinator.py::Coordinator",
    "How does a link delay, drop or cut what it carries?": "cluster/links/link.py::Link",
    "Which lags can a link have?": "cluster/links/lag.py",
    "When is a far zone tried again after a failure: what is the back-off?": "cluster/connections/backoff.py",
    "Where is hinted handoff implemented?": "cluster/options/hinted_handoff.py",
    "How are keys hashed onto the token ring?": "cluster/topology/key_hashes.py::KeyHash",
    "What does Dynomite refuse in strict mode?": "cluster/options/strict/forms.py",
    "How does the simulated Redis run Lua scripts?": "cluster/sim/redis/scripting.py",
    "What survives on the disk of a simulated server?": "cluster/sim/disk.py",
    "How does a RESP port cut commands out of bytes: the scanner?": "cluster/resp/protocol/scanner.py::CommandScanner",
    "What do blocking commands do at a port?": "cluster/resp/commands/blocking.py",
    "Which ports does an engine see the world through?": "engine/ports.py::Connection",
    "What makes a lease of a message valid in hardened mode?": "engine/dyno/hardened/lease.py",
    "How does the unack handler of version 1 requeue messages?": "engine/dyno/v1/unack.py",
    "Which mechanisms of hardened mode can be switched off?": "engine/dyno/hardened/mechanisms.py::Hardening",
    "How is a partition's log trimmed?": "engine/fifo/fenced/trimming.py",
    "What does a gmq dispatcher do in the background?": "engine/gmq/dispatcher.py::GmqDispatcher",
    "Which fields does a scenario file have?": "scenarios/spec/scenario.py::Scenario",
    "Where are the faults of a zone's server, such as power loss?": "scenarios/faults/zones.py",
    "Which classes of faults does a seed draw?": "scenarios/fault_draws/fault_classes.py",
    "Which recorder writes operations into the history?": "scenarios/clients/recorder.py::Recorder",
    "Which columns does the history have?": "analysis/runs/history.py",
    "Which classes can a message be in?": "analysis/message_classes.py::MessageClass",
    "How is linearizability of a key checked?": "analysis/checkers/consistency/linear.py",
    "Where does a new kind of plot begin?": "analysis/figures/kinds/names.py::PlotKind",
    "How does shrinking search for a smaller run that still fails?": "studies/shrink/search.py",
    "Which state machine tries a user's own queue: the property suite?": "studies/properties/machine.py::QueueMachine",
    "Where is the code of each exit decided on the command line?": "app/cli/exits.py",
}

STOP = """a an and are at be by can do does each for from how i in is it of on one or own s that the to what when where
which who with while goes after this its as have has not no such"""


def words(text):
    found = re.findall(r"[a-z0-9]+", text.lower().replace("_", " ").replace("-", ""))
    return [_stem(word) for word in found if word not in STOP.split()]


def _stem(word):
    for ending in (
        "ization",
        "izability",
        "ations",
        "ation",
        "ingly",
        "ings",
        "ing",
        "ies",
        "ers",
        "er",
        "ed",
        "es",
        "s",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)]
    return word


def cards():
    for name in project_files():
        if name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and name.endswith(".py"):
            text = (ROOT / name).read_text()
            opening = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
            yield name, words(name.removesuffix(".py")) * 2 + words(opening)


@pytest.fixture(scope="module")
def shelf():
    return dict(cards())


def guesses(question, shelf):
    holders = Counter(word for card in shelf.values() for word in set(card))
    asked = set(words(question))

    def score(name):
        card = Counter(shelf[name])
        known = sum(math.log(len(shelf) / holders[word]) * (1 + math.log(card[word])) for word in asked if card[word])
        return known / (len(card) + 8) ** 0.5

    return sorted(shelf, key=score, reverse=True)


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
def test_words_alone_lead_to_the_module_that_answers(question, answer, shelf):
    place, _, name = answer.partition("::")
    assert place in guesses(question, shelf)[:3]
    tree = ast.parse((ROOT / place).read_text())
    assert not name or name in {getattr(node, "name", None) for node in tree.body}


def test_a_module_that_is_named_after_nothing_is_not_found(shelf):
    hidden = {
        name.replace("hinted_handoff", "kept"): words("app kept") if "hinted_handoff" in name else card
        for name, card in shelf.items()
    }
    assert guesses("Where is hinted handoff implemented?", hidden)[:3].count("cluster/options/kept.py") == 0
