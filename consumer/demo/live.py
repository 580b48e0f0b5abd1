"""The passage of the records while it lasts: a table in place on a terminal, lines of progress elsewhere,
and the same figures in one line at its end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from rich import box
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from consumer.demo.figures import WINDOW, Reading
from consumer.demo.judging import top
from consumer.demo.outputs import Output
from consumer.demo.report import anomaly_line
from consumer.demo.scrape import Scraper
from consumer.demo.screen import Draw, Screen

_WHAT: Final = "scored and read by the subscriber"
_LEAST_WIDTH: Final = 76
_LEAST_HEIGHT: Final = 22
_FRAME_EVERY: Final = 0.5  # seconds
_SETTLE: Final = 5.0  # seconds after the last record until the figures are taken as they are
_RECENT: Final = 1_000  # outputs among which the top anomalies are looked for
_TOP: Final = 5

Show: TypeAlias = Callable[[Sequence[Output], int], None]
"""Takes the outputs that were just read, and how many different ones there are by now."""


@contextmanager
def passage(screen: Screen, ports: Sequence[int], total: int) -> Iterator[Show]:
    """Shows how `total` records pass through the replicas whose metrics are at `ports`, and says at the
    end what the replicas counted. What is yielded blocks for no replica."""
    scraper = Scraper(ports)
    shown = _table if screen.redraws(_LEAST_WIDTH, _LEAST_HEIGHT) else _lines
    with shown(screen, scraper, total) as show:
        yield show
    screen.say(summary(scraper.latest))


@contextmanager
def _table(screen: Screen, scraper: Scraper, total: int) -> Iterator[Show]:
    with screen.live() as draw:
        board = _Board(screen, scraper, total, draw)
        with scraper.polling():
            yield board.show
        scraper.settle(_SETTLE)
        board.draw()


@contextmanager
def _lines(screen: Screen, scraper: Scraper, total: int) -> Iterator[Show]:
    with screen.bar(_WHAT, total) as update:
        yield lambda _, done: update(done)
    scraper.settle(_SETTLE)


class _Board:
    """Remembers what the table needs and draws it now and then."""

    def __init__(self, screen: Screen, scraper: Scraper, total: int, draw: Draw) -> None:
        self._screen = screen
        self._scraper = scraper
        self._total = total
        self._draw = draw
        self._done = 0
        self._recent: deque[Output] = deque(maxlen=_RECENT)
        self._drawn_at = float("-inf")

    def show(self, found: Sequence[Output], done: int) -> None:
        self._recent.extend(found)
        self._done = done
        if time.monotonic() - self._drawn_at >= _FRAME_EVERY:
            self.draw()

    def draw(self) -> None:
        progress = _progress(self._done, self._total)
        self._draw(frame(self._screen, progress, self._scraper.latest, self._recent))
        self._drawn_at = time.monotonic()


def frame(
    screen: Screen, progress: RenderableType, reading: Reading, recent: Sequence[Output]
) -> RenderableType:
    """The whole table: figures of the replicas, and the top anomalies among the `recent` outputs."""
    tables = (_speed(reading), _batches(reading), _texts(reading))
    return Group(
        progress, "", *(part for table in tables for part in (table, "")), *_anomalies(screen, recent)
    )


def summary(reading: Reading) -> str:
    """What the replicas counted, in one line."""
    figures = reading.figures
    if not reading.answered:
        return "no replica told its metrics"
    heard = f" ({_heard(reading)} replicas answered)" if reading.answered < reading.asked else ""
    return (
        f"batches: {figures.batches:,}, of {figures.mean_size:,.1f} records on average, "
        f"closed by {_counts(figures.closed_by)}; "
        f"texts: {figures.texts:,}, answered by {_counts(figures.answered_by)}{heard}"
    )


def _progress(done: int, total: int) -> RenderableType:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column()
    grid.add_column(ratio=1)
    grid.add_row(Text(f"{_WHAT}: {done:,} of {total:,}"), ProgressBar(total, done))
    return grid


def _speed(reading: Reading) -> Table:
    return _row(
        {
            f"records/s, last {WINDOW:.0f} s": f"{reading.speed:,.0f}",
            "lag": f"{reading.figures.lag:,}",
            "flagged": f"{reading.figures.anomalies:,}",
            "replicas heard": _heard(reading),
        }
    )


def _batches(reading: Reading) -> Table:
    figures = reading.figures
    closed = {f"by {what}": f"{count:,}" for what, count in figures.closed_by.items()}
    return _row({"batches": f"{figures.batches:,}", "mean size": f"{figures.mean_size:,.1f}", **closed})


def _texts(reading: Reading) -> Table:
    figures = reading.figures
    answered = {what: f"{count:,}" for what, count in figures.answered_by.items()}
    return _row({"all texts": f"{figures.texts:,}", **answered})


def _row(cells: Mapping[str, str]) -> Table:
    """A heading over each cell."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True)
    for heading in cells:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(*cells.values())
    return table


def _anomalies(screen: Screen, recent: Sequence[Output]) -> list[Text]:
    results, flagged = top(((output,) for output in recent), _TOP)
    heading = Text(f"top anomalies of the last {len(recent):,} outputs ({flagged:,} different texts)", "bold")
    return [heading, *(anomaly_line(screen, result, screen.width) for result in results)]


def _heard(reading: Reading) -> str:
    return f"{reading.answered} of {reading.asked}"


def _counts(counts: Mapping[str, int]) -> str:
    """Only what happened; `nothing` when nothing did."""
    return ", ".join(f"{what} {count:,}" for what, count in counts.items() if count) or "nothing"
