"""Chaos on Apache Kafka, from a seed that repeats it.

    python -m tests.chaos.run                          # both guarantees, half of the faults each
    python -m tests.chaos.run --guarantee exactly-once --assignor range --minutes 8 --records 100000

Exit 0 when every invariant holds and the run proves something; else 1, and what is kept of it is named.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tests.chaos.archive import keep
from tests.chaos.faults import Guarantee
from tests.chaos.outcome import Outcome, Plan
from tests.chaos.schedule import halves, whole
from tests.chaos.site import Site, running_site
from tests.chaos.transactions import aborted_records
from tests.chaos.trial import Trial
from tests.chaos.verdict import Verdict, judge
from tests.kafka.history import History
from tests.kafka.items import text_of
from tests.kafka.offline import scores_in_a_file
from tests.kafka.text_scorer import VERSION

ASSIGNORS = ("cooperative-sticky", "range", "consumer")

_AROUND = 38.0  # seconds of a trial in which nothing strikes: the start, the calm after the storm
_BEFORE = 20.0  # seconds until the brokers run
_RECORDS_A_MINUTE = 11_000
_SCORED_AGAIN = 200


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    signal.signal(signal.SIGTERM, _interrupt)
    plans = _plans(options, seed)
    _say(f"seed {seed}; `{_command(options, seed)}` repeats this run")
    home = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
    passed = False
    try:
        with running_site() as site:
            verdicts = [_try_out(site, plan, home) for plan in plans]
            passed = all(verdicts)
    finally:
        if passed:
            shutil.rmtree(home)
        else:
            _say(f"FAILED with seed {seed}; history and logs are kept in {home}")
    return 0 if passed else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.run", description=__doc__)
    parser.add_argument("--seed", type=int, help="repeats a run; unset: a new one")
    parser.add_argument("--minutes", type=float, default=5.0, help="of the whole run")
    parser.add_argument("--records", type=int, help="in all; unset: by the minutes")
    parser.add_argument("--guarantee", type=Guarantee, help="only this one, with all of its faults")
    parser.add_argument("--assignor", choices=ASSIGNORS, help="unset: by the seed")
    parser.add_argument("--faults", default="", help="only those whose names match this regular expression")
    return parser


def _plans(options: argparse.Namespace, seed: int) -> list[Plan]:
    records = options.records or int(_RECORDS_A_MINUTE * options.minutes)
    rng = random.Random(f"assignors of {seed}")
    if options.guarantee:
        seconds = max(10.0, 60 * options.minutes - _BEFORE - _AROUND)
        storms = {options.guarantee: whole(seed, options.guarantee, seconds)}
    else:
        seconds = max(10.0, (60 * options.minutes - _BEFORE) / len(Guarantee) - _AROUND)
        storms = dict(halves(seed, seconds))
    return [
        Plan(
            seed,
            guarantee,
            options.assignor or rng.choice(ASSIGNORS),
            records // len(storms),
            seconds,
            [step for step in steps if re.search(options.faults, step.fault.name)],
        )
        for guarantee, steps in storms.items()
    ]


def _command(options: argparse.Namespace, seed: int) -> str:
    if options.guarantee:
        assignor = f" ASSIGNOR={options.assignor}" if options.assignor else ""
        return f"make chaos-cell GUARANTEE={options.guarantee}{assignor} SEED={seed}"
    return f"make chaos SEED={seed} MINUTES={options.minutes:g}"


def _try_out(site: Site, plan: Plan, home: Path) -> bool:
    """One trial, told as it goes; whether it passed. What it leaves is kept when it did not."""
    place = home / plan.guarantee
    place.mkdir()
    _say(f"\n{plan.guarantee}, {plan.assignor}: {plan.records:,} records, {len(plan.steps)} faults")
    for step in plan.steps:
        _say(f"  {step}")
    began = time.monotonic()
    trial = Trial(site, plan, place, lambda line: _say(f"  {line}"))
    try:
        outcome = trial.run()
    except BaseException:
        (place / "brokers.log").write_text(site.cluster.log())
        raise
    finally:
        trial.close()
    verdict = judge(outcome, _scores_again(outcome.history, place))
    _tell(outcome, verdict, time.monotonic() - began)
    if not verdict.passed:
        keep(outcome, place / "history.jsonl")
    return verdict.passed


def _scores_again(history: History, home: Path) -> dict[tuple[int, int], float]:
    """What the bundled model gives to some of the texts that it scored during the storm."""
    sources = [w.source for w in history.written if w.outcome == "scored" and w.model != VERSION]
    chosen = set(sources[:: max(1, len(sources) // _SCORED_AGAIN)])
    sent = {
        (s.partition, s.offset): s.value or b"" for s in history.sent if (s.partition, s.offset) in chosen
    }
    scores = scores_in_a_file(home / "again", list(sent.values())) if sent else {}
    return {source: scores[text_of(value)] for source, value in sent.items()}


def _tell(outcome: Outcome, verdict: Verdict, seconds: float) -> None:
    history = outcome.history
    done = {w.source for w in history.written}
    lost = sum((s.partition, s.offset) not in done for s in history.sent)
    hidden = aborted_records(outcome.everything, outcome.committed)
    _say(f"{outcome.plan.guarantee}, {outcome.plan.assignor}, seed {outcome.plan.seed}:")
    for line in verdict.lines:
        _say(str(line))
    for why, count in Counter(e.why for e in outcome.exits if e.why).most_common():
        _say(f"     {count} x ended by itself: {why[:160]}")
    for why in verdict.inconclusive:
        _say(f"     INCONCLUSIVE: {why}")
    _say(
        f"{'passed' if verdict.passed else 'FAILED'}: {len(history.sent):,} records, {lost} lost, "
        f"{history.duplicates():,} duplicates (bound {history.bound():,}), {hidden:,} aborted records "
        f"hidden, {outcome.taken_back} taken back in the input, {seconds:.0f} s"
    )


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """A signal ends the run as Ctrl-C does: with everything closed, which a second one does not hurry."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
