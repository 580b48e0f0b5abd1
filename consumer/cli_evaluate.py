"""`consumer evaluate`: how good the scores are, where there are labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from consumer.cli_evaluate_input import Dataset, collect
from consumer.cli_evaluate_judge import Judge
from consumer.cli_evaluate_labels import LabelSource, labelled
from consumer.cli_evaluate_report import FittedOn, Report, baselines, describe
from consumer.cli_evaluate_table import show
from consumer.cli_fit_options import Fitting, fitting_options
from consumer.cli_fit_progress import Reporter, reporter
from consumer.cli_options import settings_options
from consumer.errors import Misconfigured
from consumer.evaluation import Bools, first_part, random_part
from consumer.lines import check_files, read_lines
from consumer.loading import Loaded
from consumer.normalize import Normalizer
from consumer.scoring.fit import learn
from consumer.scoring.judge import FittedModel
from consumer.settings import Scoring, Settings

if TYPE_CHECKING:
    from consumer.scoring.stored import StoredModel


class Request(NamedTuple):
    """What the user asked for, apart from settings."""

    files: Sequence[str]
    labels: LabelSource
    split: str | None
    fit_share: float
    fitting: Fitting
    ablate: bool


class Subject(NamedTuple):
    """What is evaluated: a model, the records to judge it by, and the records that say what is usual."""

    model: FittedModel
    name: str
    version: str | None
    fitted_on: FittedOn | None
    judged_by: Dataset
    usual: Dataset


@click.command(
    epilog="""\b
Examples:
  consumer evaluate --model ./model --label-field label --normal-value normal labelled.jsonl
  consumer evaluate --model ./model --label-file labels.txt --normal-value 0 app.log
  consumer evaluate --split chronological --label-column 1 --normal-value - BGL.log
  consumer evaluate --split random --seed 3 --ablate --json \\
      --label-field label --normal-value norm values.jsonl
"""
)
@settings_options("scoring")
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@click.option("--label-field", metavar="NAME", help="The label is this field of each JSON record.")
@click.option(
    "--label-column",
    type=click.IntRange(1, 1_000),
    metavar="N",
    help="The label is this blank-separated word of each line, taken out before the line is scored.",
)
@click.option("--label-file", metavar="FILE", help="A file with one label a line, in the records' order.")
@click.option(
    "--normal-value",
    "normal",
    multiple=True,
    required=True,
    metavar="LABEL",
    help="Label of normal records; repeatable. All other labels are anomalies.",
)
@click.option(
    "--split",
    type=click.Choice(["chronological", "random"]),
    help="Fit on the normal records of one part, whatever --model says, and evaluate on the rest: the part "
    "that comes first, or that of randomly drawn texts, of which no text is in both parts.",
)
@click.option(
    "--fit-share",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="With --split: how much is fitted on.",
)
@click.option("--ablate", is_flag=True, help="Also without each part, calibrated anew.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
@fitting_options
def evaluate(loaded: Loaded, as_json: bool, **asked: Any) -> None:
    """Judge scores by labels.

    Labels are used to judge, and with --split to leave anomalies out of the fit; never to choose a
    threshold. --parts, --severity-words, --blocks, --seed and --mask belong to the fit of --split; the
    seed also draws the texts of a random split.
    """
    sources = {key: asked.pop(key) for key in ("label_field", "label_column", "label_file", "normal")}
    request = Request(labels=_source(**sources), **asked)
    settings = loaded.require()
    if problems := [*request.labels.problems(), *check_files(request.files)]:
        raise Misconfigured(problems)
    with reporter() as shown:
        report = _report(_subject(request, settings, shown), request, settings.scoring, shown)
    if as_json:
        click.echo(msgspec.json.encode(report))
    else:
        show(report)
    for line in report.warnings():
        click.echo(f"warning: {line}", err=True)


def _source(
    label_field: str | None, label_column: int | None, label_file: str | None, normal: Sequence[str]
) -> LabelSource:
    return LabelSource(label_field, label_column, label_file, frozenset(normal))


def _subject(request: Request, settings: Settings, shown: Reporter) -> Subject:
    if request.split:
        return _fitted_here(request, settings, shown)
    from consumer.scoring.stored import load_stored  # noqa: PLC0415 - torch takes seconds

    stored: StoredModel = load_stored(settings.scoring)
    data = _read(request, settings, stored.normalizer, shown)
    return Subject(stored.fitted, stored.manifest.name, stored.version, None, data, data)


def _fitted_here(request: Request, settings: Settings, shown: Reporter) -> Subject:
    fitting = request.fitting
    fitting.words()  # refused before anything is read
    data = _read(request, settings, Normalizer(fitting.masks), shown)
    first = _first(data, request)
    before, after = data.part(first), data.part(~first)
    if after.anomalous.all() or not after.anomalous.any():
        raise Misconfigured(["the part to evaluate has no anomaly, or nothing else: change --fit-share"])
    tally = before.normal_tally()
    model = learn(tally, fitting.make_parts(settings.scoring), fitting.options, shown.stage).model
    fitted_on = FittedOn(
        split=str(request.split),
        fit_share=request.fit_share,
        seed=fitting.seed,
        records=len(before.text_of),
        normal=tally.records,
        normal_texts=len(tally),
    )
    return Subject(model, "fitted here", None, fitted_on, after, before.part(~before.anomalous))


def _first(data: Dataset, request: Request) -> Bools:
    """The records of the part to fit on."""
    if request.split == "random":
        return random_part(data.text_of, request.fit_share, request.fitting.seed)
    return first_part(len(data.text_of), request.fit_share)


def _read(request: Request, settings: Settings, normalizer: Normalizer, shown: Reporter) -> Dataset:
    limit = settings.input.max_bytes
    records = labelled(read_lines(request.files, limit), request.labels, limit)
    return collect(records, settings.input, normalizer, request.labels, shown.reading)


def _report(subject: Subject, request: Request, scoring: Scoring, shown: Reporter) -> Report:
    model, data = subject.model, subject.judged_by
    judge = Judge(model, data, scoring.false_alarm_rate, shown)
    names = enumerate(model.part_names if request.ablate else ())
    return Report(
        model=subject.name,
        version=subject.version,
        parts=model.part_names,
        calibration_items=model.rule.n,
        smallest_rate=model.rule.smallest_rate,
        fitted_on=subject.fitted_on,
        data=describe(data, judge.known),
        scored=judge.whole(),
        baselines=baselines(data, subject.usual),
        without={name: judge.without(number) for number, name in names},
    )
