"""``zonelab verify``: an evaluation's prediction beside what the rollout shows in production."""

import json
from collections.abc import Sequence
from pathlib import Path

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.stages import Stage, unheard
from zonelab.app.verbs.evaluate import SUMMARY_NAME
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.production import of_histories
from zonelab.studies.evaluate.prometheus import Prometheus
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.verification import Verification, verified
from zonelab.studies.many_runs.state import RESULTS_NAME


def verify_rollout(
    rollout: Rollout,
    *,
    file: str,
    histories: Sequence[Path],
    prometheus: Prometheus | None,
    setting: str | None,
    faults: Sequence[str],
    runs: Path,
    command: str,
    stage: Stage = unheard,
) -> Verification:
    """Compare with the runs that ``zonelab evaluate`` kept below ``runs``.

    ``setting``: the one in production, of those that histories do not name. Raises ``NotAccepted``, ``RunError``, or
    ``ClusterError`` if Prometheus does not answer.
    """
    evaluation = Evaluation(rollout)
    directory = evaluation.experiment.directory(runs)
    if not (directory / RESULTS_NAME).is_file():
        raise NotAccepted(f"{directory}: no results of this version; first run: zonelab evaluate {file}")
    if prometheus is None:
        production = of_histories(rollout, histories, stage=stage)
    else:
        chosen = _chosen(rollout, setting, directory)
        production = prometheus.production(chosen, rollout.evaluate.verify, stage=stage)
    if setting is not None and production.setting != _named(rollout, setting):
        raise NotAccepted(f"--setting: got {setting!r}; accepted: {production.setting}, of which the histories are")
    with evaluation.experiment.state(directory) as state:
        rates = evaluation.kept(state)[production.setting]
    return verified(rates, production, faults=faults, command=command)


def _named(rollout: Rollout, setting: str) -> str:
    names = [one.name for one in rollout.settings]
    if setting not in names:
        raise NotAccepted(f"--setting: got {setting!r}{did_you_mean(setting, names)}; accepted: {'; '.join(names)}")
    return setting


def _chosen(rollout: Rollout, setting: str | None, directory: Path) -> str:
    """Return the setting that is named, or the only one, or else the recommended one."""
    if setting is not None:
        return _named(rollout, setting)
    if len(rollout.settings) == 1:
        return rollout.settings[0].name
    summary = directory / SUMMARY_NAME
    found = json.loads(summary.read_text(encoding="utf-8")).get("recommended") if summary.is_file() else None
    if found is None:
        names = "; ".join(one.name for one in rollout.settings)
        raise NotAccepted(f"--setting: missing, as none is recommended; accepted: {names}")
    return str(found)
