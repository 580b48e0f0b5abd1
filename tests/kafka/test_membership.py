"""Three replicas under each way of sharing partitions: one is killed and replaced, one is restarted.

`make membership` runs this alone; the table stands at the end of its report.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

from tests.kafka.history import Action, History
from tests.kafka.items import normal
from tests.kafka.replicas import Replica
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.waiting import eventually
from tests.report import LINES

RECORDS = 20_000
RATE = 2_000  # a second: the run outlasts both restarts
SEED = 848


class Cell(NamedTuple):
    """A way of sharing partitions. `static`: each replica has a name that its successor takes over."""

    name: str
    assignor: str
    static: bool = False

    def settings(self) -> dict[str, object]:
        """With static membership a restart must fit into the session; the broker-side protocol takes
        neither session nor heartbeat from the client."""
        heartbeat = "" if self.assignor == "consumer" else "heartbeat.interval.ms=500"
        session = {"kafka__session_timeout": 30} if self.static else {}
        return {"kafka__assignor": self.assignor, "kafka__consumer": heartbeat, **session}

    def start(self, scenario: Scenario, process: str, identity: str) -> Replica:
        arguments = ("--set", f"kafka.group_instance_id={identity}") if self.static else ()
        return scenario.start(process, *arguments, score_seconds=0.01)


CELLS = (
    Cell("cooperative-sticky", "cooperative-sticky"),
    Cell("range", "range"),
    Cell("KIP-848", "consumer"),
    Cell("cooperative-sticky, static", "cooperative-sticky", static=True),
)


class Run(NamedTuple):
    """`taken`: partitions that were taken from the replica to which nothing happened; `until_owned`: seconds
    from the kill, and from the stop, until the successor owned partitions."""

    history: History
    taken: int
    until_owned: tuple[float, float]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_kill_and_a_restart_among_three_replicas_lose_nothing(scenario: Scenario, cell: Cell) -> None:
    run = _run(scenario, cell)
    _tell(cell, run)
    assert len(run.history.sent) == RECORDS
    assert_sound(run.history)
    if cell.static:
        assert run.taken == 0, "a static member that returns within its session moves nothing"


def _run(scenario: Scenario, cell: Cell) -> Run:
    scenario.prepare(**cell.settings())
    one, two, three = (cell.start(scenario, name, name) for name in ("one", "two", "three"))
    eventually("each of three owns partitions", lambda: all(r.owns() for r in (one, two, three)), 90)
    settled = time.monotonic()
    feeder = scenario.feed(list(normal(RECORDS, SEED)), RATE)
    eventually("some is sent", lambda: len(feeder.sent) > RECORDS // 10, 60)
    one.kill()
    killed = time.monotonic()
    one = cell.start(scenario, "one-again", "one")
    eventually("the first is back", one.owns, 90)
    back = time.monotonic()
    scenario.stop(two)
    two = cell.start(scenario, "two-again", "two")
    eventually("the second is back", two.owns, 90)
    again = time.monotonic()
    scenario.until_committed()
    taken = [h for h in three.happenings() if h.action in {Action.REVOKED, Action.LOST} and h.at > settled]
    scenario.stop(one, two, three)
    return Run(scenario.history(), sum(len(h.offsets) for h in taken), (back - killed, again - back))


_COLUMNS = "{:<28}{:>9}{:>6}{:>12}{:>8}{:>24}{:>20}{:>20}"


def _tell(cell: Cell, run: Run) -> None:
    """A line of the table; the first one brings the head."""
    head = _COLUMNS.format(
        "membership",
        "records",
        "lost",
        "duplicates",
        "bound",
        "taken from a bystander",
        "s, kill to owning",
        "s, stop to owning",
    )
    if head not in LINES:
        LINES.append(head)
    history = run.history
    done = {w.source for w in history.written}
    lost = sum((s.partition, s.offset) not in done for s in history.sent)
    seconds = [f"{each:.1f}" for each in run.until_owned]
    figures = (len(history.sent), lost, history.duplicates(), history.bound(), run.taken, *seconds)
    LINES.append(_COLUMNS.format(cell.name, *figures))


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "consumer"])
def test_two_replicas_with_one_instance_id_end_in_one_that_says_so(scenario: Scenario, assignor: str) -> None:
    """The classic protocol fences the older one, the broker-side one refuses the newer."""
    cell = Cell(assignor, assignor, static=True)
    scenario.prepare(**cell.settings())
    older = cell.start(scenario, "older", "one name")
    eventually("it owns the input", older.owns, 60)
    newer = cell.start(scenario, "newer", "one name")
    eventually("one of them ends", lambda: not (older.running and newer.running), 90)
    gone, left = (newer, older) if older.running else (older, newer)
    assert gone.wait(1) == 1
    assert "give every replica its own" in gone.log
    eventually("the other owns the input", lambda: len(left.owns()) == 6, 60)
    scenario.feed(list(normal(500, SEED))).finish()
    scenario.until_committed()
    scenario.stop(left)
    assert_sound(scenario.history())
