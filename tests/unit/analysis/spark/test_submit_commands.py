"""Goal: the commands of docs/spark.md are ones that Spark takes. Method: its own launcher, which starts nothing."""

import shlex
import subprocess
from pathlib import Path

import pyspark
import pytest

PAGE = Path(__file__).parents[4] / "docs" / "spark.md"
LAUNCHER = ("org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit")

pytestmark = pytest.mark.java


def commands() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("    spark-submit ")]


def launched(words: list[str]) -> list[str]:
    program = Path(pyspark.__path__[0]) / "bin" / "spark-class"
    done = subprocess.run([program, *LAUNCHER, *words], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.split("\0")


@pytest.mark.parametrize("words", commands(), ids=["yarn", "k8s"])
def test_the_launcher_takes_the_command_with_all_of_its_words(words: list[str]) -> None:
    taken = launched(words)
    assert "org.apache.spark.deploy.SparkSubmit" in taken
    assert "--usage-error" not in taken
    assert set(words) <= set(taken)


def test_the_launcher_refuses_an_option_that_spark_has_not_got() -> None:
    words = [word.replace("--archives", "--archive") for word in commands()[0]]
    assert "--usage-error" in launched(words)
