"""One storm over one group: fed, struck, supervised, calmed down, and remembered."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka import KafkaException

from tests.chaos.aborted import Aborter
from tests.chaos.brokers import coordinator_of
from tests.chaos.faults import SESSION
from tests.chaos.feed import storm_items
from tests.chaos.fleet import Fleet
from tests.chaos.orders import Orders
from tests.chaos.outcome import Outcome, Plan
from tests.chaos.scorer import MAX_POLL_INTERVAL, STALL_AFTER
from tests.chaos.site import Site
from tests.chaos.storm import Storm, Struck
from tests.chaos.strikes import begin
from tests.chaos.strikes_on_replicas import DRAIN
from tests.kafka.checker import Violation
from tests.kafka.collect import UNCOMMITTED, Reader, log_ends
from tests.kafka.history import Action, Happening
from tests.kafka.replicas import Replica
from tests.kafka.scenario import Scenario

ENTRY = ("-m", "tests.chaos.entry")
PLAIN, MODELLED = 3, 1
"""Replicas with the test scorer, and with the bundled model and the cache."""

_PARTITIONS = {"input": 8, "results": 4, "dead": 2}
_MOST_PARTITIONS = 64
_BURST = 200
_TICK = 0.05
_LOOKS = 8  # ticks between two questions whether it is calm
_CALM_WITHIN = 90.0
_STORM_OVERTIME = 240.0

Say = Callable[[str], None]


class Trial:
    """Strikes reach the site, the fleet and the scenario through it."""

    def __init__(self, site: Site, plan: Plan, home: Path, say: Say) -> None:
        self.site, self.plan, self._home, self._say = site, plan, home, say
        self.scenario = Scenario(site.cluster.bootstrap, site.topics, home, site.through)
        self.fleet = Fleet("text", PLAIN, self._start_plain)
        self.modelled = Fleet("model", MODELLED, self._start_modelled)
        self.partitions = _PARTITIONS["input"]
        self._notes: list[Happening] = []
        self._found: list[Violation] = []

    def run(self) -> Outcome:
        """Blocks for the storm and the calm after it. Raises AssertionError when the rig itself fails."""
        self.scenario.prepare(_PARTITIONS, _MOST_PARTITIONS, **_settings(self.plan, self.site))
        everything = Reader(self.site.cluster.bootstrap, self.scenario.outputs, UNCOMMITTED)
        everything.start()
        aborter = Aborter(self.site.cluster.bootstrap, self.scenario.name("input"))
        aborter.start()
        struck = self._storm()
        aborter.finish()
        self._calm_down()
        self._stop()
        history = self.scenario.history()
        happenings = sorted([*history.happenings, *self._notes], key=lambda h: h.at)
        return Outcome(
            self.plan,
            history._replace(happenings=happenings, exact=self.plan.exact),
            self.scenario.messages(),
            everything.finish(),
            struck,
            [*self.fleet.exits, *self.modelled.exits],
            self._found,
            aborter.records,
            self.partitions,
        )

    def close(self) -> None:
        """No process of it is left."""
        self.scenario.close()

    # ---------------------------------------------------------------- used by strikes

    def orders(self, replica: Replica) -> Orders:
        return Orders(self._home / f"{replica.name}.armed")

    def note(self, action: Action) -> None:
        """Something that the rig did belongs to the history."""
        self._notes.append(Happening(time.monotonic(), "the rig", action))

    def found(self, rule: str, what: str) -> None:
        self._found.append(Violation(rule, what))

    def coordinator(self) -> int:
        """The number of the broker that coordinates the group. Raises KafkaException."""
        return coordinator_of(self.site.admin(), self.scenario.group)

    # ---------------------------------------------------------------- the storm

    def _storm(self) -> Sequence[Struck]:
        plan = self.plan
        items = list(storm_items(plan.records, plan.seed))
        feeder = self.scenario.feed(items, plan.records / plan.seconds, _BURST)
        storm = Storm(plan.steps, lambda step: begin(self, step))
        began, told = time.monotonic(), 0
        try:
            while not storm.over or feeder.is_alive():
                now = time.monotonic() - began
                assert now < plan.seconds + _STORM_OVERTIME, "the storm does not end"
                storm.advance(now)
                self._tend()
                for struck in storm.struck[told:]:
                    told += 1
                    self._say(_line(struck))
        finally:
            storm.close()
        return storm.struck

    def _tend(self) -> None:
        self.fleet.tend()
        self.modelled.tend()
        time.sleep(_TICK)

    # ---------------------------------------------------------------- the calm after it

    def _calm_down(self) -> None:
        """Wait until the group has caught up, and look who owns what."""
        deadline = time.monotonic() + _CALM_WITHIN
        while (lag := self._lag()) != 0 or not self._is_whole():
            if time.monotonic() > deadline:
                self.found("I24", f"{_CALM_WITHIN:g} s after the storm: lag {lag}, owners {self._owners()}")
                self._ask_where_they_stand()
                return
            for _ in range(_LOOKS):
                self._tend()

    def _ask_where_they_stand(self) -> None:
        """Each writes into its log what its threads are doing."""
        for replica in self._running:
            replica.signal(signal.SIGUSR1)
        time.sleep(1.0)

    def _lag(self) -> int | None:
        """Log ends minus committed offsets, markers included; None while nobody tells."""
        name = self.scenario.name("input")
        try:
            ends = log_ends(self.site.admin(), [(name, p) for p in range(self.partitions)])
            committed = self.scenario.committed()
        except (KafkaException, TimeoutError):
            return None
        return sum(end - committed.get(p, 0) for (_, p), end in ends.items())

    @property
    def _running(self) -> list[Replica]:
        return [*self.fleet.running, *self.modelled.running]

    def _owners(self) -> dict[int, int]:
        """How many running replicas own each partition."""
        return dict(Counter(p for replica in self._running for p in replica.owns()))

    def _is_whole(self) -> bool:
        """Everybody is there, and each partition has one owner."""
        everybody = len(self._running) == self.fleet.wanted + self.modelled.wanted
        joined = everybody and all(replica.has_joined() for replica in self._running)
        return joined and self._owners() == dict.fromkeys(range(self.partitions), 1)

    def _stop(self) -> None:
        """All at once, with nothing wrong: each has to end cleanly."""
        running = self._running
        for replica in running:
            replica.signal(signal.SIGTERM)
        for replica in running:
            if (code := replica.wait(60)) != 0:
                self.found("I17", f"{replica.name} ended with {code} after the storm, when nothing was wrong")

    # ---------------------------------------------------------------- replicas

    def _start_plain(self, name: str) -> Replica:
        return self._start(name, "scoring.factory=tests.chaos.scorer:make")

    def _start_modelled(self, name: str) -> Replica:
        return self._start(name, "scoring.model=demo", "scoring.threads=1")

    def _start(self, name: str, *settings: str) -> Replica:
        arguments = [part for setting in settings for part in ("--set", setting)]
        return self.scenario.start(name, *arguments, program=ENTRY, armed=False)


def _line(struck: Struck) -> str:
    mark = "" if struck.hit else "   hit nobody"
    return f"{struck.began:7.1f} … {struck.ended:5.1f} s  {struck.step.fault.name}{mark}"


def _settings(plan: Plan, site: Site) -> dict[str, object]:
    heartbeat = "" if plan.assignor == "consumer" else "heartbeat.interval.ms=500,"
    return {
        "processing__guarantee": plan.guarantee,
        "transaction__timeout": 10,
        "kafka__assignor": plan.assignor,
        "kafka__session_timeout": SESSION,
        "kafka__consumer": f"{heartbeat}topic.metadata.refresh.interval.ms=2000",
        "kafka__max_poll_interval": MAX_POLL_INTERVAL,
        "delivery__timeout": 8,
        "delivery__revoke_budget": 8,
        "scoring__stall_after": STALL_AFTER,
        "redis__url": site.cache_url,
        "dedupe__enabled": "true",
        "shutdown__drain_timeout": DRAIN,
    }
