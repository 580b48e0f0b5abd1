"""The end of the demonstration, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.text import Text

from consumer.demo.account import Account
from consumer.demo.baselines import SCORED_KINDS, Measure, judged_by
from consumer.demo.evaluation import (
    Judged,
    KindScore,
    Unseen,
    false_alarms,
    false_alarms_by_length,
    meets_target,
    score_of,
)
from consumer.demo.labels import COVERED, NOT_COVERED, Kind
from consumer.demo.outputs import Result
from consumer.demo.screen import Screen, printable
from consumer.evaluation import FalseAlarms

_WIDTH: Final = 180  # characters of an anomaly's line
_LEVEL: Final = 8  # of which so many are the level's


def show_top(screen: Screen, top: Sequence[Result], notes: Mapping[str, str], flagged: int) -> None:
    """The oddest results, each text once; `notes`: what is to be said of a result, by id."""
    screen.heading(
        f"Top anomalies ({flagged:,} different texts were flagged; the words that surprised stand out)"
    )
    for result in top:
        screen.say(anomaly_line(screen, result, _WIDTH, f"{notes.get(result.id, ''):<12} "))


def anomaly_line(screen: Screen, result: Result, width: int, note: str = "") -> Text:
    """Score, note, level and message in one safe line that takes the room of `width` letters at most."""
    level = printable(result.level or "")[:_LEVEL]
    head = f"  {result.score:5.2f}  {note}{level:<{_LEVEL}} "
    spans = sorted((token.start, token.end) for token in result.tokens)
    line = Text(head).append_text(screen.marked(result.message, spans, width - len(head)))
    line.truncate(width, overflow="ellipsis")
    return line


def show_kinds(screen: Screen, judged: Sequence[Judged]) -> None:
    screen.heading(
        "What was found (threshold without labels, for 1 % false alarms; precision of each kind by texts)"
    )
    screen.say(f"  {'kind':<14}{'records':>8}{'texts':>7}{'found':>7}{'recall':>8}{'precision':>11}")
    for kind in COVERED:
        screen.say(_row(kind.value, score_of(judged, kind)))
    screen.say(_row("all covered", score_of(judged, *COVERED)))
    for kind in NOT_COVERED:
        score = score_of(judged, kind)
        screen.say(f"  {kind.value:<14}{score.records:>8}{score.texts:>7}{score.found:>7}    not covered yet")


def show_false_alarms(screen: Screen, judged: Sequence[Judged]) -> None:
    alarms = false_alarms(judged)
    screen.heading("False alarms, and what was new to the model")
    screen.say(f"  {_alarms(alarms)} of {alarms.normal:,} normal records")
    buckets = [
        f"up to {high:,} characters {found.rate:.2%}" if high < 10_000 else f"longer {found.rate:.2%}"
        for high, found in false_alarms_by_length(judged)
    ]
    screen.say(f"  by length of the message: {', '.join(buckets)}")


def show_unseen(screen: Screen, unseen: Unseen) -> None:
    for what, new, all_of_them, records in (
        (
            "templates not among the model's",
            unseen.unseen_templates,
            unseen.templates,
            unseen.template_records,
        ),
        ("texts that the model had not seen", unseen.unseen_texts, unseen.texts, unseen.text_records),
    ):
        share = new / max(1, all_of_them)
        screen.say(
            f"  normal {what}: {new} of {all_of_them} ({share:.0%}), {records:.1%} of the normal records"
        )


def show_baselines(screen: Screen, judged: Sequence[Judged], measures: Mapping[str, Measure]) -> None:
    screen.heading(
        "Beside it, trivial scorers (their threshold is chosen on the labels of this run, in their favour)"
    )
    screen.say(
        f"  {'scorer':<14}"
        + "".join(f"{kind.value:>13}" for kind in SCORED_KINDS)
        + f"{'all':>7}   false alarms"
    )
    screen.say(_baseline("this model", judged))
    for name, measure in measures.items():
        screen.say(_baseline(name, judged_by(measure, judged)))


def show_account(screen: Screen, found: Account, forgotten: Sequence[str], committed: bool) -> None:
    screen.heading("Where every record went")
    screen.say(f"  produced {found.produced:,}")
    for outcome, count in found.outcomes.items():
        screen.say(f"  {outcome:<26}{count:>8,}")
    screen.say(f"  {'missing':<26}{found.missing:>8,}")
    screen.say(f"  {'more than once':<26}{found.duplicated:>8,}")
    screen.say(f"  {'ids that nobody produced':<26}{found.unknown:>8,}")
    reached = "reached" if committed else "did not reach"
    screen.say(f"  before the replicas were stopped, the group's offsets {reached} the end of the input")
    if forgotten:
        screen.say(f"  the in-process cluster forgot a part of {', '.join(forgotten)}: ask for fewer records")


def show_verdict(
    screen: Screen, exact: bool, exit_codes: Sequence[int], judged: Sequence[Judged] = ()
) -> None:
    screen.say()
    if exact:
        screen.say("Every produced record has exactly one output record.", "bold green")
    else:
        screen.say("Not every produced record has exactly one output record.", "bold red")
    if any(exit_codes):
        codes = ", ".join(map(str, exit_codes))
        screen.say(f"But a replica ended badly (exit codes {codes}): its last words stand above.", "bold red")
    if judged and not meets_target(judged):
        screen.say("Missed: recall of 0.9 in all and 0.7 in each kind at 1 % false alarms.", "yellow")


def _row(name: str, score: KindScore) -> str:
    numbers = (
        f"{score.records:>8}{score.texts:>7}{score.found:>7}{score.recall:>8.2f}{score.precision:>11.2f}"
    )
    return f"  {name:<14}{numbers}"


def _alarms(alarms: FalseAlarms) -> str:
    return f"{alarms.rate:.2%} ({alarms.texts} texts, repeats counted once; {alarms.raw_rate:.2%} raw)"


def _baseline(name: str, judged: Sequence[Judged]) -> str:
    recalls = "".join(f"{score_of(judged, kind).recall:>13.2f}" for kind in SCORED_KINDS)
    scored = [j for j in judged if j.truth.kind in (*SCORED_KINDS, Kind.NORMAL)]
    overall = score_of(scored, *SCORED_KINDS).recall
    return f"  {name:<14}{recalls}{overall:>7.2f}   {_alarms(false_alarms(scored))}"
