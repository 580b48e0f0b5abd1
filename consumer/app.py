"""The service, put together: real ports around the pipeline, and what watches it."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec

from consumer import __version__
from consumer.codec import EventCodec
from consumer.dedupe import NoMarks, SharedMarks
from consumer.errors import Fatal, Misconfigured
from consumer.isolation import Isolating
from consumer.kafka.admin import Report, inspect
from consumer.kafka.messages import Outgoings
from consumer.kafka.sink import KafkaSink
from consumer.kafka.source import KafkaSource
from consumer.kafka.topic_id import ask_topic_id
from consumer.kafka.transactions import TransactionalSink
from consumer.ops.fan_out import FanOut
from consumer.ops.health import Health
from consumer.ops.http import Pages, serving
from consumer.ops.log_observer import Limiter, LogObserver
from consumer.ops.logs import LogWriter, client_logger, logging_to
from consumer.ops.metrics import Metrics, Process, new_registry
from consumer.ops.trace import timeline
from consumer.ops.watch import Limits, StopSignals
from consumer.pipeline import Pipeline, Ports
from consumer.ports import Observer, Scorer, Sink
from consumer.settings import Settings
from consumer.settings_keys import secrets_of
from consumer.sharing import Marks

_log = logging.getLogger(__name__)
_COLLECT_EVERY = 20_000  # containers made and still held: some micro-batches' worth
_LEAVE = 5.0  # seconds that a failed process takes to leave the group before it ends anyway

LoadScorer = Callable[[Settings], Scorer]
Wrap = Callable[[Ports], Ports]


class SystemClock:
    """Monotonic time of this machine."""

    now = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


def build_ports(
    settings: Settings, scorer: Scorer, observer: Observer, partitions: Mapping[str, int]
) -> Ports:
    """The real ports. `partitions`: how many each topic has. Raises Misconfigured when a client refuses."""
    outgoings = Outgoings(settings, scorer.model, partitions)
    source = KafkaSource(settings, observer, client_logger())
    return Ports(
        source=source,
        codec=EventCodec(settings.input, keep_document=settings.output.include == "event"),
        scorer=Isolating(scorer, settings.scoring.max_failures),
        sink=_sink(settings, outgoings, source, observer),
        observer=observer,
        clock=SystemClock(),
        marks=_marks(settings),
    )


def _sink(settings: Settings, outgoings: Outgoings, source: KafkaSource, observer: Observer) -> Sink:
    if settings.exactly_once:
        return TransactionalSink(settings, outgoings, source, client_logger(), observer)
    return KafkaSink(settings, outgoings, client_logger(), observer)


def _marks(settings: Settings) -> Marks:
    if not settings.dedupe.enabled:
        return NoMarks()
    from consumer.stores.redis_store import open_marks  # noqa: PLC0415 - the Redis client, only where it is used

    store = open_marks(settings.redis, settings.dedupe)
    return SharedMarks(settings.kafka.group_id, store, ask_topic_id(settings, settings.dedupe.budget))


class Watching(msgspec.Struct, frozen=True):
    """What is told about the work, and what may ask it to stop."""

    signals: StopSignals
    metrics: Metrics
    observer: FanOut


class Service:
    """`consumer run`. `load_scorer` is called before the group is joined; `wrap` may put something
    around the ports (tests put failpoints there); `facts` about the process go into the first log line;
    `trace` is a file for a timeline of the work."""

    def __init__(
        self,
        settings: Settings,
        load_scorer: LoadScorer,
        wrap: Wrap = lambda ports: ports,
        facts: Mapping[str, str] = MappingProxyType({}),
        trace: Path | None = None,
    ) -> None:
        self._settings = settings
        self._load_scorer = load_scorer
        self._wrap = wrap
        self._facts = facts
        self._trace = trace
        self._pipeline: Pipeline | None = None

    def run(self, *, stop_at_end: bool = False) -> int:
        """Work until a signal, or with `stop_at_end` until everything assigned is finished. Blocks.

        Returns the exit code: 0 fine, 1 failed while running. Raises Misconfigured before the work
        begins, with every problem of brokers, topics and model that was found.
        """
        secrets = secrets_of(self._settings)
        with (
            logging_to(self._settings.log, sys.stderr, secrets) as writer,
            self._watching(writer) as watching,
        ):
            _log.info("starting", extra={"action": "start", "version": __version__, **self._facts})
            ports = self._prepare(watching)
            if watching.signals.requested:
                return 0
            return self._work(ports, watching, stop_at_end=stop_at_end)

    @contextlib.contextmanager
    def _watching(self, writer: LogWriter) -> Iterator[Watching]:
        settings, clock = self._settings, SystemClock()
        limits = Limits(settings.shutdown.drain_timeout, settings.kafka.max_poll_interval)
        signals = StopSignals(limits, self._uncommitted)
        signals.start()
        health = Health(settings.health)
        registry = new_registry()
        ready = Process(ready=lambda: health.ready(clock.now()).ok, logs_dropped=lambda: writer.dropped)
        metrics = Metrics(registry, ready)
        observers = [metrics, health, LogObserver(Limiter()), signals]
        try:
            with serving(settings.metrics, Pages(registry, health, clock.now)), self._tracing() as tracing:
                yield Watching(signals, metrics, FanOut([*observers, *tracing]))
        finally:
            signals.close()

    @contextlib.contextmanager
    def _tracing(self) -> Iterator[Sequence[Observer]]:
        if self._trace is None:
            yield ()
            return
        with timeline(self._trace, SystemClock.now) as traced:
            yield (traced,)

    def _uncommitted(self) -> int:
        return 0 if self._pipeline is None else self._pipeline.uncommitted

    def _prepare(self, watching: Watching) -> Ports:
        report = inspect(self._settings)
        self._tell(report)
        scorer = self._loaded(report)
        watching.metrics.model_loaded(scorer)
        _collect_rarely()
        ports = build_ports(self._settings, scorer, watching.observer, report.partitions)
        watching.metrics.marks_opened(ports.marks)
        _log.info("model is warm, joining the group", extra={"action": "join", "model": scorer.model.version})
        return self._wrap(ports)

    def _loaded(self, report: Report) -> Scorer:
        try:
            scorer = self._load_scorer(self._settings)
        except Misconfigured as error:
            raise Misconfigured([*report.problems, *error.problems]) from error
        if report.problems:
            raise Misconfigured(report.problems)
        return scorer

    @staticmethod
    def _tell(report: Report) -> None:
        for line in (*report.unreachable, *report.warnings):
            _log.warning("inspection of brokers and topics", extra={"action": "inspect", "found": line})

    def _work(self, ports: Ports, watching: Watching, *, stop_at_end: bool) -> int:
        pipeline = self._pipeline = Pipeline(self._settings, ports)

        def should_stop() -> bool:
            return watching.signals.requested or (stop_at_end and pipeline.caught_up())

        try:
            pipeline.run(should_stop)
        except Fatal as error:
            _log.error("stopped by a fatal error", extra={"action": "fatal", "why": str(error)})
        except Exception:
            _log.exception("stopped by an unexpected error", extra={"action": "fatal"})
        else:
            _log.info("stopped, everything finished is committed", extra={"action": "stop"})
            return 0
        finally:
            ports.marks.close()
            ports.scorer.close()
        _leave(ports)
        return 1


def _collect_rarely() -> None:
    """What was loaded stays, and records make no circles: look for circles less often, among what is new.
    By default that is done after every 700 containers, several times in each micro-batch."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)


def _leave(ports: Ports) -> None:
    """Give the partitions back at once instead of after the session; end the process if that hangs."""
    threading.Thread(target=_end_after, args=(_LEAVE,), name="leave", daemon=True).start()
    with contextlib.suppress(Exception):
        ports.source.close()
    ports.sink.close(time.monotonic())


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(1)
