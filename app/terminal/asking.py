"""Questions at the terminal, one by one; an answer that cannot be taken is refused at once, and asked for again."""

import sys
from collections.abc import Callable, Sequence

from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.studies.evaluate.answers import QUESTIONS, RolloutAnswers


def ask_all(check: Callable[[Sequence[str]], str]) -> str:
    """Return what ``check`` makes of the answers to all questions; it is called with those so far after each.

    Raises ``NotAccepted`` without a terminal, or if the input ends.
    """
    if not sys.stdin.isatty():
        raise NotAccepted("--ask needs a terminal; without one zonelab new rollout writes a file to change")
    texts: list[str] = []
    answers, made = RolloutAnswers(), ""
    for place, question in enumerate(QUESTIONS, 1):
        default = question.default(answers)
        _tell(f"\n{place} of {len(QUESTIONS)}. {question.asks}\n   e.g. {question.example}")
        while len(texts) < place:
            text = _answer(default)
            try:
                answers, made = question.take(answers, text), check([*texts, text])
            except (ValueError, ScenarioError, NotAccepted) as error:
                _tell(f"   {error}")
            else:
                texts.append(text)
    return made


def _answer(default: str) -> str:
    try:
        return input(f"   [{default}] ").strip() or default
    except EOFError:
        raise NotAccepted("--ask: the input ended before the last answer; nothing is written") from None


def _tell(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()
