"""Goal: what the README shows works. Method: take its scenario out of the page and load it."""

import re
from pathlib import Path

from zonelab.scenarios.spec.reading import load_scenario

README = Path(__file__).parents[2] / "README.md"


def test_the_scenario_of_the_readme_loads(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    (tmp_path / "my-rollout.yaml").write_text(text, encoding="utf-8")
    assert load_scenario(str(tmp_path / "my-rollout.yaml"), overrides=[]).name == "my-rollout"
