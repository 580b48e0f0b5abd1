"""docs/metrics.md, from the catalogue: `python -m consumer.ops.metrics_doc > docs/metrics.md`."""

from __future__ import annotations

import sys

from consumer.ops.catalogue import ALL, Definition

_HEAD = """\
# Metrics

Served at `/metrics` on `metrics.host`:`metrics.port`. Generated from `consumer/ops/catalogue.py` by
`python -m consumer.ops.metrics_doc`; do not edit. Histograms have the usual `_bucket`, `_sum` and `_count`
series. Beside these stand the usual `process_*` metrics (memory, CPU, file descriptors).

Counters start at 0 with the process. Series of a partition exist only while this replica owns it.

| metric | type | labels | meaning |
|---|---|---|---|
"""


def markdown() -> str:
    """The whole page."""
    return _HEAD + "".join(_row(definition) for definition in ALL)


def _row(definition: Definition) -> str:
    text = definition.help.replace("|", "\\|")
    return f"| `{definition.name}` | {definition.kind} | {_labels(definition)} | {text} |\n"


def _labels(definition: Definition) -> str:
    names = ", ".join(f"`{label}`" for label in definition.labels)
    values = ", ".join(definition.values)
    return f"{names}: {values}" if values else names


if __name__ == "__main__":
    sys.stdout.write(markdown())
