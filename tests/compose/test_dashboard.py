"""Every query of the dashboard and of the alerts selects series that exist, by labels that they have."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector

from consumer.ops.catalogue import ALL
from tests.compose.conftest import ROOT, tool
from tests.report import COUNTS

DASHBOARD = ROOT / "deploy/grafana/dashboards/consumer.json"
FROM_SCRAPING = {"job", "instance"}
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}

Query = Mapping[str, Any]


def _series() -> dict[str, set[str]]:
    """Every series name that can be scraped, with the labels that it has."""
    ours = {
        f"{each.name}{suffix}": {*each.labels, *(["le"] if suffix == "_bucket" else [])}
        for each in ALL
        for suffix in _SUFFIXES.get(each.kind, ("",))
    }
    process = ProcessCollector(registry=CollectorRegistry()).collect()
    names = {sample.name for metric in process for sample in metric.samples}
    return ours | {name: set() for name in names} | {"up": set()}


def _values() -> dict[str, set[str]]:
    return {each.name: set(each.values) for each in ALL if each.values}


def _dashboard() -> list[str]:
    """The expressions, with the one variable that Grafana itself fills in."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    texts = [target["expr"] for panel in panels for target in panel["targets"]]
    return [text.replace("$__rate_interval", "1m") for text in texts]


def _parsed(arguments: Sequence[str], text: str = "") -> list[Query]:
    answer = subprocess.run(
        [str(tool("promcheck")), *arguments],
        input=text,
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert answer.returncode == 0, answer.stderr
    found: list[Query] = json.loads(answer.stdout)
    return found


def _assert_real(queries: Sequence[Query]) -> None:
    known = _series()
    for query in queries:
        allowed = FROM_SCRAPING.copy()
        for series in query["series"]:
            assert series["name"] in known, query["expr"]
            assert set(series["labels"]) <= known[series["name"]] | FROM_SCRAPING, query["expr"]
            allowed |= known[series["name"]]
        assert query["series"], f"selects nothing: {query['expr']}"
        assert set(query["by"]) <= allowed, query["expr"]


def test_every_query_of_the_dashboard_names_existing_metrics_and_labels() -> None:
    expressions = _dashboard()
    queries = _parsed(["queries"], "\n".join(expressions))
    assert len(queries) == len(expressions) > 20
    _assert_real(queries)
    COUNTS["dashboard queries parsed"] += len(queries)


def test_prometheus_accepts_its_files_and_the_alerts_name_existing_metrics() -> None:
    queries = _parsed(["config", "deploy/prometheus/prometheus.yml"])
    assert len(queries) > 5
    _assert_real(queries)
    COUNTS["alert rules parsed"] += len(queries)


def test_a_label_value_that_is_asked_for_exists() -> None:
    text = "\n".join([*_dashboard(), (ROOT / "deploy/prometheus/alerts.yml").read_text("utf-8")])
    for name, values in _values().items():
        for asked in _asked(text, name):
            assert asked in values, f"{name} never has {asked}"


def _asked(text: str, name: str) -> list[str]:
    parts = text.split(f"{name}{{")[1:]
    return [part.split('"')[1] for part in parts]


def test_a_metric_that_does_not_exist_would_be_noticed() -> None:
    for wrong in ("sum(consumer_lag)", "sum by (nonsense) (consumer_lag_records)", 'up{colour="red"}'):
        queries = _parsed(["queries"], wrong)
        try:
            _assert_real(queries)
        except AssertionError:
            continue
        raise AssertionError(f"{wrong} passed")


def test_the_dashboard_is_where_grafana_looks_for_it_with_the_source_that_is_provisioned() -> None:
    source = (ROOT / "deploy/grafana/provisioning/datasources/prometheus.yml").read_text("utf-8")
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    assert all(f"uid: {panel['datasource']['uid']}\n" in source for panel in panels)
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert "path: /deploy/dashboards" in (
        ROOT / "deploy/grafana/provisioning/dashboards/consumer.yml"
    ).read_text("utf-8")
