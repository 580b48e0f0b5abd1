"""A report for people: rich tables on a terminal, the same columns as plain text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table

from consumer.cli_evaluate_report import Data, FittedOn, Order, Report, Scored
from consumer.evaluation import RATES


class Grid(NamedTuple):
    """A table: the first column is of names, the others of figures."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(report: Report) -> None:
    """To standard output."""
    for line in facts(report):
        click.echo(line)
    for grid in (order_grid(report), alerts_grid(report)):
        click.echo()
        if sys.stdout.isatty():
            Console().print(_rich(grid))
        else:
            click.echo("\n".join(plain(grid)))


def facts(report: Report) -> list[str]:
    """What was evaluated with what."""
    version = f" version {report.version}" if report.version else ""
    return [
        f"model:       {report.model}{version}, parts {', '.join(report.parts)}",
        *([_fitted_on(report.fitted_on)] if report.fitted_on else []),
        f"calibration: {report.calibration_items} items, which support false-alarm rates down to "
        f"{report.smallest_rate:.2g} of all records",
        *_data(report.data),
    ]


def _fitted_on(fitted: FittedOn) -> str:
    how = {
        "chronological": f"the first {fitted.fit_share:.0%} of the records",
        "random": f"the records of {fitted.fit_share:.0%} of the different texts, drawn at random",
    }
    return (
        f"fitted on:   {fitted.normal:,} normal of {fitted.records:,} records "
        f"({fitted.normal_texts:,} different texts): {how[fitted.split]}; seed {fitted.seed}"
    )


def _data(data: Data) -> list[str]:
    rejected = ", ".join(f"{count} {reason}" for reason, count in data.rejected.items()) or "none"
    both = f", {data.texts_with_both_labels} texts with both" if data.texts_with_both_labels else ""
    return [
        f"evaluated:   {data.records:,} records, {data.anomalies:,} of them anomalies; {data.texts:,} "
        f"different texts, {data.anomalous_texts:,} of them anomalous{both}",
        f"             {data.known_records:.1%} of the records have a text that the fit had seen",
        f"read:        {data.read:,} records, {data.empty} of them empty; rejected: {rejected}",
        f"labels:      stand in the model input of {data.label_in_model_input} records",
    ]


def order_grid(report: Report) -> Grid:
    """AP, recall at each of RATES and AUROC, by records and by texts."""
    rates = [f"recall at {rate * 100:g} %" for rate in RATES]
    header = ["scorer", *(name for each in ("AP", *rates, "AUROC") for name in (each, "by text"))]
    rows = [_order("this model", report.scored.order)]
    rows += [_order(f"without {name}", scored.order) for name, scored in report.without.items()]
    rows += [_order(name, order) for name, order in report.baselines.items()]
    return Grid("What the order of the scores is worth (recall read off the ROC curve)", header, rows)


def _order(name: str, order: Order) -> list[str]:
    records, texts = order.records, order.texts
    pairs = [
        (records.average_precision, texts.average_precision),
        *zip(records.recall_at, texts.recall_at, strict=True),
        (records.auroc, texts.auroc),
    ]
    return [name, *(f"{value:.4f}" for pair in pairs for value in pair)]


def alerts_grid(report: Report) -> Grid:
    """What the label-free threshold did."""
    header = ["scorer", "false alarms asked", "got", "got/asked", "repeats once", "recall", "by text"]
    header += ["precision by text", "alerts per 10,000", "repeats once"]
    rows = [_alerts("this model", report.scored)]
    rows += [_alerts(f"without {name}", scored) for name, scored in report.without.items()]
    return Grid("What alerts at the threshold that needs no labels", header, rows)


def _alerts(name: str, scored: Scored) -> list[str]:
    a = scored.alerts
    shares = [f"{a.asked:.2%}", f"{a.got:.2%}", f"{a.got_by_asked:.2f}", f"{a.got_repeats_once:.2%}"]
    found = [f"{a.recall:.3f}", f"{a.recall_texts:.3f}", f"{a.precision_texts:.3f}"]
    return [name, *shares, *found, f"{a.per_10000:.0f}", f"{a.texts_per_10000:.0f}"]


def plain(grid: Grid) -> list[str]:
    """Columns as wide as their widest cell, figures to the right."""
    table = [grid.header, *grid.rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(grid.header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in table
    ]
    return [grid.title, *(f"  {line}" for line in lines)]


def _rich(grid: Grid) -> Table:
    table = Table(title=grid.title, title_justify="left", title_style="bold")
    for number, name in enumerate(grid.header):
        table.add_column(name, justify="right" if number else "left")
    for row in grid.rows:
        table.add_row(*row)
    return table
