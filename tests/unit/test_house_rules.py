"""Goal: the rules of the house that no linter knows hold. Method: syntax trees and the text of all tracked files.

Each rule is also shown a text that breaks it.
"""

import ast
import itertools
import re
from collections import defaultdict

from support.project_files import FOLDERS, ROOT, project_files
from support.purity import impurities

from zonelab.engine.dyno.hardened import Hardening

LINES_MAX = 400
LONGER: dict[str, str] = {"studies/properties/machine.py": "its docstring has a whole queue as an example"}
"""Modules that may be longer, each with its reason."""

PORTS_LINES_MAX = 99
EXAMPLE_LINES_MAX = 120

BLOCKING_FACADE = "engine/sync.py"
"""For ordinary programs: it runs an event loop, so it alone of the engine's modules knows of one."""


def text_of(name):
    return (ROOT / name).read_bytes().decode("utf-8", "replace")


def modules():
    return sorted(name for name in project_files() if name.endswith(".py"))


IN_A_RUN = tuple(
    f"scenarios/{name}"
    for name in (
        *("clients/", "consistency/", "fault_draws/", "faults/", "queues/", "run/", "spec/"),
        *("run_phases.py", "tasks.py"),
    )
)
AROUND_A_RUN = tuple(f"scenarios/run/{name}.py" for name in ("in_directory", "on_servers", "simulated"))
"""These begin and end runs from outside: they hear signals and make directories."""

SERVING = tuple(f"cluster/{name}/" for name in ("admin", "process", "real", "resp"))


def runs_in_simulation(name):
    outside = name.startswith(SERVING) or name in (BLOCKING_FACADE, *AROUND_A_RUN)
    return name.startswith(("engine/", "cluster/", *IN_A_RUN)) and not outside


def found(pattern, text):
    return [(text.count("\n", 0, match.start()) + 1, match[0]) for match in pattern.finditer(text)]


def test_the_rules_look_at_what_there_is():
    names = project_files()
    assert "engine/ports.py" in names
    assert "cluster/votes/levels.py" in names
    assert sum(map(runs_in_simulation, names)) > 20
    for prefix in (*IN_A_RUN, *AROUND_A_RUN, *SERVING):
        assert any(name.startswith(prefix) for name in names), prefix


def test_what_runs_in_simulation_knows_no_clock_no_thread_no_loop_and_no_chance_of_its_own():
    broken = {name: impurities(text_of(name)) for name in modules() if runs_in_simulation(name)}
    assert {name: faults for name, faults in broken.items() if faults} == {}


def too_long(lengths):
    return {name: length for name, length in lengths.items() if length > LINES_MAX and name not in LONGER}


def test_no_module_is_longer_than_a_person_reads_at_once():
    assert too_long({name: len(text_of(name).splitlines()) for name in modules()}) == {}
    assert too_long({"engine/ports.py": LINES_MAX + 1, "engine/sync.py": LINES_MAX}) == {
        "engine/ports.py": LINES_MAX + 1
    }


def test_the_ports_stay_under_100_lines():
    assert len(text_of("engine/ports.py").splitlines()) <= PORTS_LINES_MAX


def test_the_shortest_engine_stays_short():
    """docs/queue-contract.md walks through it: every line counts, docstrings and empty ones, too."""
    example = [name for name in modules() if name.startswith("engine/zset/") or name == "scenarios/queues/zset.py"]
    assert len(example) == 3
    assert sum(len(text_of(name).splitlines()) for name in example) <= EXAMPLE_LINES_MAX


def test_no_module_is_called_utils():
    assert [name for name in modules() if re.search(r"(^|/)utils?\.py$|(^|/)helpers?\.py$", name)] == []


LEFT_BY_A_MERGE = re.compile(r"^(?:<{7}|>{7}) .*", re.MULTILINE)


def test_no_file_has_two_sides_of_a_merge():
    broken = {name: found(LEFT_BY_A_MERGE, text_of(name)) for name in project_files()}
    assert {name: lines for name, lines in broken.items() if lines} == {}
    assert found(LEFT_BY_A_MERGE, "a\n" + "<" * 7 + " HEAD\nb\n") == [(2, "<" * 7 + " HEAD")]


def test_every_test_module_says_its_goal_first():
    tests = [name for name in modules() if re.search(r"(^|/)test_[^/]+\.py$", name)]
    openings = {name: ast.get_docstring(ast.parse(text_of(name))) or "" for name in tests}
    assert [name for name, opening in openings.items() if not opening.splitlines()[:1]] == []


HOOKS = {"connection_made", "data_received", "pause_writing", "resume_writing", "format_commands", "teardown"}
"""Methods that asyncio, Click and Hypothesis call, and say what they are for."""

AS_EVERYWHERE = {"to_json", "from_json", "print"}
PRODUCT = tuple(f"{folder}/" for folder in (*FOLDERS, "zonelab"))
METHOD_LINES = 5


def classes_of(name):
    return [node for node in ast.walk(ast.parse(text_of(name))) if isinstance(node, ast.ClassDef)]


def methods_of(kind):
    return [node for node in kind.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def names_in(nodes):
    return {node.id for each in nodes for node in ast.walk(each) if isinstance(node, ast.Name)}


def unsaid(kinds):
    """Longer public methods of public classes that neither they nor a base class or protocol explain."""
    by_name = defaultdict(list)
    for kind in kinds:
        by_name[kind.name].append(kind)
    of_protocols = {each.name for kind in kinds if "Protocol" in names_in(kind.bases) for each in methods_of(kind)}

    def inherited(kind):
        bases = [base for name in names_in(kind.bases) if name != kind.name for base in by_name[name]]
        return {name for base in bases for name in {each.name for each in methods_of(base)} | inherited(base)}

    return [
        f"{kind.name}.{each.name}"
        for kind in kinds
        for each in methods_of(kind)
        if not (kind.name.startswith("_") or each.name.startswith("_") or ast.get_docstring(each))
        and each.end_lineno - each.lineno >= METHOD_LINES
        and each.name not in HOOKS | AS_EVERYWHERE | of_protocols | inherited(kind)
    ]


def test_every_longer_public_method_says_what_it_is_for():
    assert unsaid([kind for name in modules() if name.startswith(PRODUCT) for kind in classes_of(name)]) == []
    body = "\n".join(f"        step{number}()" for number in range(METHOD_LINES))
    planted = f"class Base:\n    def run(self):\n{body}\nclass Own(Base):\n    def run(self):\n{body}\n"
    assert unsaid(ast.parse(planted).body) == ["Base.run"]
    assert unsaid(ast.parse(planted.replace("Base", "_Base")).body) == []


def test_a_test_of_the_engine_switches_each_mechanism_of_hardened_mode_off():
    folder = "tests/unit/engine/"
    names = ("dyno/hardened/test_queue.py", "dyno/hardened/test_leases.py", "test_windows.py")
    texts = [text_of(folder + name) for name in names]
    assert [each for each in Hardening if not any(f"(Hardening.{each.name}," in text for text in texts)] == []


OPENING = re.compile(r"(Of|What|So|Who|Whose|Whoever|Whether|How|Where|As)\b")


def docstrings(tree):
    """Docstrings of modules, classes and functions, and the texts below names that are assigned."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for before, each in itertools.pairwise([None, *body]) if isinstance(body, list) else ():
            below = before is None or isinstance(before, ast.Assign | ast.AnnAssign)
            if below and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                yield str(each.value.value).strip()


def test_docstrings_begin_with_a_verb_or_the_noun_of_the_thing():
    held = [name for name in modules() if name.startswith((*PRODUCT, "benchmarks/"))]
    wrong = {name: [text for text in docstrings(ast.parse(text_of(name))) if OPENING.match(text)] for name in held}
    assert {name: texts for name, texts in wrong.items() if texts} == {}
    planted = 'LEAST = 4\n"""So many at least."""\ndef depth():\n    """Whether any."""\n'
    assert len([text for text in docstrings(ast.parse(planted)) if OPENING.match(text)]) == 2


OF_GUESTS = re.compile(r"scenarios/guests/[^/]+/|studies/known/failures/")
"""Programs of guests, each in an environment of its own: they import nothing of each other."""


def named_twice(places):
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_classes_of_the_product_have_one_name():
    places = defaultdict(list)
    for name in modules():
        for kind in classes_of(name) if name.startswith(PRODUCT) and not OF_GUESTS.match(name) else ():
            places[kind.name].append(name)
    assert len(places) > 1_000
    assert named_twice(places) == {}
    assert named_twice({"Row": ["a.py", "b.py"], "Cell": ["a.py"]}) == {"Row": ["a.py", "b.py"]}
