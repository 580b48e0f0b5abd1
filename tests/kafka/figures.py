"""Numbers that a run showed, for the end of the test report."""

from __future__ import annotations

from collections import Counter

from tests.kafka.history import Action, History, samples_until_recovery
from tests.report import LINES


def _kinds(history: History) -> str:
    counts = Counter(h.action for h in history.causes())
    return ", ".join(f"{count} {action}" for action, count in counts.items()) or "no event"


def tell(what: str, history: History) -> None:
    """One line about a run into the report."""
    done = {w.source for w in history.written}
    lost = sum((s.partition, s.offset) not in done for s in history.sent)
    kills = history.of(Action.KILLED)
    recovering = [len(samples_until_recovery(history, kill)) for kill in kills]
    LINES.append(
        f"{what}: {len(history.sent):,} records, {lost} lost, {history.duplicates()} duplicates "
        f"(bound {history.bound()} from {_kinds(history)}), {len(history.samples)} samples of "
        f"committed offsets, {recovering} between each kill and recovery"
    )
