"""`make memory`: what a replica takes in hard times beside what its settings allow, a row for each case.

Its baseline is a replica that has started and has nothing to do; the peak is the kernel's. Each of the
growths has to stay below the sum that docs/deployment.md derives from the settings. Exit 1 if one does not.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.memory_bound import MIB
from benchmarks.memory_cases import CASES, Case
from benchmarks.memory_rig import Measured, Rig

HEAD = (
    "| case | read of the backlog | start | peak | growth | allowed | met | flat after |\n"
    "|---|--:|--:|--:|--:|--:|---|--:|"
)


@click.command()
@click.option("--minutes", default=1.0, show_default=True, help="How long somebody is away.")
@click.option("--steady", default=30.0, show_default=True, help="Seconds of a case in which nobody is.")
@click.option("--only", multiple=True, help="The case of this name, or those whose names hold it.")
def main(minutes: float, steady: float, only: Sequence[str]) -> None:
    """Measure a replica's memory on Apache Kafka."""
    with tempfile.TemporaryDirectory(prefix="memory-") as home:
        sys.exit(0 if _all(_chosen(only), Path(home), minutes * 60, steady) else 1)


def _chosen(only: Sequence[str]) -> list[Case]:
    named = [case for case in CASES if case.name in only]
    return named or [case for case in CASES if not only or any(part in case.name for part in only)]


def _all(cases: Sequence[Case], home: Path, away: float, steady: float) -> bool:
    rig = Rig(home)
    try:
        rig.start()
        click.echo(HEAD)
        measured = []
        for case in cases:
            measured.append(rig.measure(case, away if case.away else steady))
            click.echo(_row(measured[-1]))
        click.echo("")
        for each in measured:
            click.echo(_sum(each))
    finally:
        rig.close()
    return all(each.growth <= each.bound for each in measured)


def _row(m: Measured) -> str:
    met = "yes" if m.growth <= m.bound else "NO"
    figures = " | ".join(f"{size / MIB:.0f}" for size in (m.baseline, m.peak, m.growth, m.bound))
    return f"| {m.case.name} | {m.polled:,} of {m.written:,} | {figures} | {met} | {m.flat_since:.0f} s |"


def _sum(m: Measured) -> str:
    """The allowed growth, term by term."""
    terms = (f"{term.name} {term.size / MIB:.1f}" for term in m.terms)
    return f"{m.case.name}: {m.bound / MIB:.0f} MiB = {' + '.join(terms)}"


if __name__ == "__main__":
    main()
