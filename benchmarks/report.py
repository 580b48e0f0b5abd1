"""The tables, and the facts about the machine that belong beside them."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

import confluent_kafka
import msgspec

from benchmarks.broker import PARTITIONS, kafka_version
from benchmarks.jobs import Measured, allocator
from benchmarks.races import Comparison, spread


class Share(msgspec.Struct, frozen=True):
    """What one corpus was like for the service, from the scorer's own counters."""

    corpus: str
    records: int
    distinct: float
    answered_without_device: float
    padding: float | None
    cpu_micros: float


def share(corpus: str, distinct: float, runs: Sequence[Measured]) -> Share:
    """`answered_without_device`: share of the texts that were repeats, remembered or known from fitting.
    `padding`: share of the places computed that hold no token; None when nothing was computed."""
    facts = runs[-1].facts
    cheap = facts["known"] + facts["repeats"] + facts["cache_hits"]
    asked = cheap + facts["cache_misses"]
    padded = facts["tokens_padded"]
    return Share(
        corpus,
        runs[-1].records,
        distinct,
        cheap / asked,
        1 - facts["tokens_computed"] / padded if padded else None,
        median(each.cpu_micros for each in runs),
    )


def machine() -> dict[str, str]:
    """What the figures depend on."""
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores for us",
        "load before": " ".join(f"{each:.1f}" for each in os.getloadavg()),
        "Python": platform.python_version(),
        "torch": version("torch"),
        "client": f"librdkafka {confluent_kafka.libversion()[0]}",
        "broker": f"Apache Kafka {kafka_version()}, one, on this machine, {PARTITIONS} partitions a topic",
        "allocator": str(allocator()),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def markdown(facts: Mapping[str, str], comparisons: Sequence[Comparison], shares: Sequence[Share]) -> str:
    """Three blocks: machine, ratios, what the records were like."""
    return "\n".join(
        [
            *(f"* {name}: {text}" for name, text in facts.items()),
            "",
            *_ratios(comparisons),
            "",
            *_shares(shares),
        ]
    )


def _ratios(comparisons: Sequence[Comparison]) -> list[str]:
    head = [
        "| ours ÷ other | unit | ours | other | ratio (least to most) | target | met |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    return head + [
        f"| {c.what} | {c.unit} | {_number(c.ours)} | {_number(c.other)} "
        f"| {spread(c.ratios)} | {c.target or ''} | {_met(c.met)} |"
        for c in comparisons
    ]


def _shares(shares: Sequence[Share]) -> list[str]:
    head = [
        "| records | count | distinct texts | answered without the device | padding | µs CPU per record |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    return head + [
        f"| {s.corpus} | {s.records:,} | {s.distinct:.2%} | {s.answered_without_device:.2%} "
        f"| {'' if s.padding is None else f'{s.padding:.1%}'} | {s.cpu_micros:.1f} |"
        for s in shares
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _met(met: bool | None) -> str:
    return "" if met is None else "yes" if met else "no"
