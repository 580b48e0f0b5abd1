"""Every metric of the product, by name. docs/metrics.md is generated from this file.

Base units (seconds, bytes, records), `_total` on counters, one prefix. Labels take their values from
small fixed sets, from our own partitions, or through a Bounded (consumer/ops/collectors.py), so that no
input can make the number of series grow.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from consumer.records import ClosedBy, Reason

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LATENCIES = (*_SECONDS[3:], 300.0, 900.0, 3_600.0, 21_600.0, 86_400.0)
_RECORDS = (1.0, 10.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0)
_BYTES = tuple(float(1 << power) for power in range(10, 26, 2))


class Definition(NamedTuple):
    """One metric. `name` is what a query uses; `values` are the label values that exist from the start."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, text: str, label: str = "", values: tuple[str, ...] = ()) -> Definition:
    return Definition(f"consumer_{name}_total", "counter", text, (label,) if label else (), values)


def _gauge(name: str, text: str, *labels: str) -> Definition:
    return Definition(f"consumer_{name}", "gauge", text, labels)


def _histogram(
    name: str, text: str, buckets: tuple[float, ...], label: str = "", values: tuple[str, ...] = ()
) -> Definition:
    labels = (label,) if label else ()
    return Definition(f"consumer_{name}", "histogram", text, labels, values, buckets)


# Records. polled = the sum of records over all outcomes + what is under way + what a rebalance took away.
POLLED = _counter("records_polled", "Records that polls returned.")
RECORDS = _counter(
    "records",
    "Records whose one output record is acknowledged, by outcome; repeats count again.",
    "outcome",
    ("scored", "empty", "duplicate", "dead_letter"),
)
ANOMALIES = _counter("anomalies", "Scored records at or above the threshold.")
DEAD_LETTERS = _counter(
    "dead_letters", "Acknowledged dead letters, by reason.", "reason", tuple(r.value for r in Reason)
)
SKIPPED = _counter("offsets_skipped", "Offsets that retention removed before they were read.")

# Batches. What closes them tells whether latency (max_wait, idle_wait) or size (count, byte_size) rules.
BATCHES = _counter(
    "batches",
    "Micro-batches launched, by what closed them.",
    "closed_by",
    tuple(c.value for c in ClosedBy),
)
BATCH_RECORDS = _histogram("batch_records", "Records in a micro-batch.", _RECORDS)
BATCH_BYTES = _histogram(
    "batch_bytes", "Bytes of the records in a micro-batch, as `batch.byte_size` counts them.", _BYTES
)

# Time.
STAGE = _histogram(
    "stage_seconds",
    "Seconds per stage: one poll; from the poll's start until the batch is launched (queue); launch to"
    " scores (device); sent to acknowledged (publish).",
    _SECONDS,
    "stage",
    ("poll", "queue", "device", "publish"),
)
LATENCY = _histogram(
    "latency_seconds",
    "Seconds from a record's timestamp to its acknowledged output, never below 0; skewed clocks show here.",
    _LATENCIES,
)
BLOCKED = _counter(
    "blocking_call_seconds",
    "Seconds inside client calls that have no time limit, by call.",
    "call",
)

# Partitions: only those that we own now. lag = log end - finished offset, from one snapshot.
PARTITIONS = _gauge("assigned_partitions", "Partitions that we own.")
FINISHED = _gauge(
    "finished_offset", "Everything below is durable; what a restart repeats lies above.", "topic", "partition"
)
LOG_END = _gauge("log_end_offset", "Last known end of the partition.", "topic", "partition")
LAG = _gauge("lag_records", "Offsets between finished and log end.", "topic", "partition")
DRAIN = _gauge(
    "time_to_drain_seconds",
    "Seconds until the lag is 0 if it goes on as in the last minute; +Inf while it does not shrink.",
    "topic",
    "partition",
)

# The group and the brokers.
REBALANCES = _counter("rebalances", "Rebalance callbacks, by kind.", "kind", ("assigned", "revoked", "lost"))
GIVEN_UP = _counter(
    "given_up_records", "Records under way whose partition was taken away; the next owner repeats them."
)
COMMITS = _counter("partition_commits", "Offsets acknowledged as committed, one per partition.")
COMMITS_REFUSED = _counter(
    "partition_commits_refused", "Offsets whose commit was refused, one per partition, by reason.", "reason"
)
SEND_FAILURES = _counter(
    "send_failures", "Micro-batches not acknowledged as a whole and sent again, by reason.", "reason"
)
SEND_REPEATED = _counter("records_sent_again", "Records in those batches; some become duplicates.")
DEPENDENCY_UP = _gauge(
    "dependency_up", "1 while a dependency that was ever in trouble is well, 0 while it fails.", "dependency"
)

# The scorer. Of all texts asked for: known + repeated + cache lookups. What neither this process's cache
# nor the shared one answers costs the device.
KNOWN_TEXTS_HIT = _counter("known_text_hits", "Texts answered by the known-text set.")
REPEATED_TEXTS = _counter("repeated_texts", "Texts identical to an earlier one of their micro-batch.")
CACHE_LOOKUPS = _counter("score_cache_lookups", "Texts looked up in the score cache of this process.")
CACHE_HITS = _counter("score_cache_hits", "Texts that it answered.")
SHARED_HITS = _counter("shared_cache_hits", "Texts that the shared score cache (Redis) answered.")
SHARED_MISSES = _counter("shared_cache_misses", "Texts that it did not answer, for whatever reason.")
SHARED_REFUSED = _counter("shared_cache_refused", "Its entries that this model did not write for their key.")
SHARED_WRITTEN = _counter("shared_cache_written", "Entries that it took.")
SHARED_LOOKUPS = _counter("shared_cache_lookups", "Times it was asked, at most once for each micro-batch.")
SHARED_WAIT = _counter("shared_cache_wait_seconds", "Seconds that micro-batches waited for it.")
SHARED_READ_ERRORS = _counter("shared_cache_read_errors", "Times it was asked and failed, or was too slow.")
SHARED_WRITE_ERRORS = _counter("shared_cache_write_errors", "Times it refused what was written.")
SHARED_BYPASSED = _gauge(
    "shared_cache_bypassed", "1 while it failed too often in a row and is left alone.", "operation"
)
TOKENS_COVERED = _counter("tokens_covered", "Tokens of the texts that went to the device.")
TOKENS_COMPUTED = _counter(
    "tokens_computed",
    "The same with the overlap of windows counted again, and a beginning that texts share counted once.",
)
TOKENS_PADDED = _counter(
    "tokens_padded", "Rows times longest row of every device batch; 1 - computed/padded is the waste."
)
DEVICE_BATCHES = _counter("device_batches", "Forward passes.")
OUT_OF_MEMORY = _counter("out_of_memory", "Times the device's memory ran out and the batch was halved.")
TOKEN_BUDGET = _gauge("device_batch_budget_tokens", "Padded tokens that a device batch may have now.")
CACHE_ENTRIES = _gauge("score_cache_entries", "Texts in the score cache.")
KNOWN_TEXTS = _gauge("known_texts", "Texts in the known-text set.")

# Events that come again (`dedupe.enabled`). How many were repeats: consumer_records_total, `duplicate`.
DEDUPE_EVENTS = _counter("dedupe_events", "Events whose id was looked up among those that came before.")
DEDUPE_REUSED = _counter("dedupe_reused_ids", "Events whose id came before with another value; scored.")
DEDUPE_REFUSED = _counter("dedupe_refused", "Entries found that no replica wrote; ignored.")
DEDUPE_WRITTEN = _counter("dedupe_marks_written", "Ids that were remembered anew.")
DEDUPE_LOOKUPS = _counter("dedupe_lookups", "Times that Redis was asked, at most once for each micro-batch.")
DEDUPE_WAIT = _counter("dedupe_wait_seconds", "Seconds that micro-batches waited for it.")
DEDUPE_READ_ERRORS = _counter("dedupe_read_errors", "Times it was asked and failed, or was too slow.")
DEDUPE_WRITE_ERRORS = _counter("dedupe_write_errors", "Times it refused what was written.")
DEDUPE_BYPASSED = _gauge(
    "dedupe_bypassed", "1 while it failed too often in a row and is left alone.", "operation"
)

# The process.
READY = _gauge("ready", "1 while /ready answers 200.")
LOGS_DROPPED = _counter("log_lines_dropped", "Log lines dropped because standard error was blocked or gone.")
BUILD = _gauge("build_info", "Always 1: the product's version and the model's name.", "version", "model")
MODEL = _gauge("model_info", "Always 1: the model's version and what computes.", "model_version", "device")

ALL: tuple[Definition, ...] = tuple(d for d in list(vars().values()) if isinstance(d, Definition))
