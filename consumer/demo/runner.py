"""The demonstration with generated logs: labels at hand, so it ends with how much was found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from consumer.demo import report
from consumer.demo.account import account
from consumer.demo.baselines import length_alone, level_alone
from consumer.demo.budget import placed, require_fit
from consumer.demo.evaluation import Judged, unseen
from consumer.demo.generator import generate
from consumer.demo.judging import judge, top
from consumer.demo.labels import Kind, Labelled
from consumer.demo.pool import POOL_SEEDS, pool_records, pool_templates
from consumer.demo.screen import Screen
from consumer.demo.transit import Asked, Passed, through_kafka
from consumer.errors import Misconfigured

_TOP: Final = 12
_BASELINE_FLEETS: Final = range(POOL_SEEDS.start, POOL_SEEDS.start + 3)
_BASELINE_RECORDS: Final = 1_000


def run_generated(seed: int, records: int, replicas: int, screen: Screen) -> int:
    """Exit code: 0 when every produced record has exactly one output record, else 1. Raises
    Misconfigured for a seed that the model was fitted on, and for more records than fit."""
    if seed in POOL_SEEDS:
        raise Misconfigured([f"--seed {seed}: the demo model was fitted on it; take another one"])
    labelled = list(generate(seed, records))
    sent = placed((each.key, each.value) for each in labelled)
    require_fit(sent)
    screen.say(f"{records:,} labelled log records of a fleet drawn from seed {seed}; the labels stay here")
    passed = through_kafka(Asked(sent, "demo", replicas, threads_each(replicas)), screen)
    screen.say(f"{records / passed.seconds:,.0f} records/s through {replicas} replicas")
    return _report(labelled, passed, screen)


def threads_each(replicas: int) -> int:
    """Replicas on one machine share its cores."""
    return max(1, (os.cpu_count() or 1) // replicas)


def _report(labelled: Sequence[Labelled], passed: Passed, screen: Screen) -> int:
    judged = judge(labelled, passed.ids, passed.outputs)
    results, flagged = top(passed.outputs.values(), _TOP)
    report.show_top(screen, results, _notes(labelled, passed.ids), flagged)
    report.show_kinds(screen, judged)
    report.show_false_alarms(screen, judged)
    report.show_unseen(screen, unseen(judged, pool_templates()))
    normal = [each.truth for each in pool_records(_BASELINE_FLEETS, _BASELINE_RECORDS)]
    measures = {"level only": level_alone(normal), "length only": length_alone(normal)}
    report.show_baselines(screen, judged, measures)
    return finish(passed, screen, judged)


def finish(passed: Passed, screen: Screen, judged: Sequence[Judged] = ()) -> int:
    """The account and the exit code."""
    found = account(passed.ids, passed.outputs)
    report.show_account(screen, found, passed.forgotten, passed.committed)
    report.show_verdict(screen, found.exact, passed.exit_codes, judged)
    return 0 if found.exact and not passed.forgotten and not any(passed.exit_codes) else 1


def _notes(labelled: Sequence[Labelled], ids: Sequence[str]) -> Mapping[str, str]:
    kinds = zip(ids, (each.truth.kind for each in labelled), strict=True)
    return {identity: "false alarm" if kind is Kind.NORMAL else kind.value for identity, kind in kinds}
