"""Random lives of the loop over one set of brokers: everything that may go wrong, from one seed."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from consumer.errors import Fatal
from consumer.records import TopicPartition

from .chance import Chance, some_settings
from .contract import check_the_end
from .device import NEVER
from .journal import Violation
from .scene import Scene
from .source import Rebalance
from .transactions import FakeTransactions

_CALM_LIMIT = 400.0  # seconds within which everything has to be done once the faults stop


class Crash(BaseException):
    """kill -9: nothing of the process goes on, not even a finally that matters."""


class History:
    """One seed: lives full of faults, then calm, then the verdict. `run()` raises Violation."""

    def __init__(self, seed: int, *, exactly_once: bool = False) -> None:
        self.rng = rng = random.Random(seed)
        self.scene = Scene(
            some_settings(rng, exactly_once=exactly_once), policy=rng.choice(("earliest", "latest"))
        )
        self.broker, self.clock, self.journal = self.scene.broker, self.scene.clock, self.scene.journal
        self.partitions = [TopicPartition("in", n) for n in range(rng.randint(1, 4))]
        for tp in self.partitions:
            self.broker.gap(tp, rng.choice((0, 0, 2)))
        self.turns = rng.randint(10, 120)
        self.eager = rng.random() < 0.4
        self.chance = Chance(rng)
        self.deadly = rng.random() < 0.6  # processes may be killed
        self.disturbances = 0
        self.calm_since: float | None = None
        self._crash_in = NEVER
        self._seen = (0.0, -1)
        self._idle_turns = 0
        self._stop_at = 0.0
        self._left_open = 0  # records that were sent but not committed when the group was left

    @property
    def calm(self) -> bool:
        return self.calm_since is not None

    # ---------------------------------------------------------------- lives

    def run(self) -> None:
        self._produce()
        while not self._live():
            self.scene.boot()
        check_the_end(self.broker, self.disturbances + self._counted(), self.scene.settings)

    def _live(self) -> bool:
        """One process from start to end; True when it was the last one."""
        self._wire()
        try:
            self.scene.pipeline.run(self._turn)
        except Crash:
            self.disturbances += 1
            self.journal.note("crash")
        except Fatal as error:
            self.disturbances += 1
            self._check_fatal(str(error))
        else:
            self.journal.note("stopped")
            if self._left_open:
                raise Violation(f"I17: a clean stop with {self._left_open} sent but not committed")
            if self.calm:
                return True
        self._bury()
        return False

    def _bury(self) -> None:
        self.scene.source.alive = False
        self.scene.sink.die()
        self._crash_in = NEVER
        if self.rng.random() < 0.5:
            self.clock.advance(self.rng.choice((0.001, 0.02)))  # a commit in the socket may still arrive
        self.broker.generation += 1
        for tp in self.partitions:
            self.broker.epochs[tp] += 1

    def _check_fatal(self, message: str) -> None:
        self.journal.note("fatal", message)
        if "device did not finish" in message:
            if not self.scene.device.busy:
                raise Violation(f"the device was done, yet: {message}")
        elif "uncommitted" in message:
            waited = self.clock.now() - self._stop_at > 0.999 * self.scene.settings.shutdown.drain_timeout
            if not waited and not self.scene.source.refusals:
                raise Violation(f"there was time to commit everything, yet: {message}")
        else:
            raise Violation(f"nothing calls for: {message}")

    def _wire(self) -> None:
        """Faults into the fakes of a new process."""
        scene, rng = self.scene, self.rng
        source, device, sink = scene.source, scene.device, scene.sink
        source.on_call = device.on_call = sink.on_call = self._call
        source.chunk = lambda limit: rng.randint(0, limit)
        source.leak = lambda: rng.random() < 0.5
        source.end_is_told = lambda: self.calm or rng.random() < 0.6
        source.elsewhere = self._elsewhere
        source.commit_fate, source.commit_now_fate = self.chance.commit_fate, self.chance.commit_now_fate
        sink.rng = scene.store.rng = rng
        scene.store.trouble = self.chance.trouble
        if isinstance(sink, FakeTransactions):
            sink.fate = self.chance.commit_call_fate
        else:
            sink.fate = self.chance.send_fate
        device.duration = self.chance.device_speed()
        mine = self._some(self.partitions) if not self.calm else self.partitions
        self.scene.rebalance(("assigned", mine))

    def _call(self, name: str) -> None:
        if name == "close":
            self._left_open = self.scene.rules.exposed()
        self._crash_in -= 1
        if self._crash_in <= 0 and not self.calm:
            raise Crash(name)

    # ---------------------------------------------------------------- turns: between two steps

    def _turn(self) -> bool:
        """Called between two steps; True: stop."""
        self._check_spin()
        self._check_caught_up()
        stop = self._chaos_turn()
        self._stop_at = self.clock.now()
        return stop

    def _chaos_turn(self) -> bool:
        self.turns -= 1
        if self.turns <= 0:
            return self._calm_turn()
        actions = (
            self._produce,
            self._rebalance,
            self._jump,
            self._change_device,
            self.chance.change_brokers,
        )
        if self.rng.random() < 0.4:
            self.rng.choice(actions)()
        if self.deadly and self._crash_in == NEVER and self.rng.random() < 0.04:
            self._crash_in = self.rng.randint(1, 12)
        return self.rng.random() < 0.01

    def _check_spin(self) -> None:
        """Either something happens or time passes."""
        told = len(self.journal) - self.journal.idle_polls
        self._idle_turns = self._idle_turns + 1 if self._seen == (self.clock.now(), told) else 0
        self._seen = (self.clock.now(), told)
        if self._idle_turns > 3:
            raise Violation("busy loop: nothing happens and no time passes")

    def _check_caught_up(self) -> None:
        """Whoever says so has written everything that was handed to it."""
        if not self.scene.pipeline.caught_up():
            return
        for tp, position in self.scene.source.positions.items():
            handed = self.broker.logs[tp].readable(self.scene.source.starts[tp], position)
            if set(handed) - self.broker.acknowledged[tp]:
                raise Violation(f"caught up, it says, with {tp} unwritten up to {position}")

    def _calm_turn(self) -> bool:
        if self.calm_since is None:
            self._calm_down()
        if self.broker.lag() == 0 and self.scene.pipeline.caught_up():
            return True
        if self.clock.now() - (self.calm_since or 0.0) > _CALM_LIMIT:
            raise Violation(f"I14: a lag of {self.broker.lag()} stays")
        if self.rng.random() < 0.2:
            self.clock.advance(0.5)
        return False

    def _calm_down(self) -> None:
        self.journal.note("calm")
        self.calm_since = self.clock.now()
        self.chance.calm_down()
        self._crash_in = NEVER
        self.scene.device.duration = lambda: 0.003
        held = set(self.scene.source.positions)
        for kind, partitions in (r for group in self.scene.source.rebalances for r in group):
            if kind == "assigned":
                held.update(partitions)
            elif kind in ("revoked", "lost"):
                held.difference_update(partitions)
        self.scene.rebalance(("assigned", [tp for tp in self.partitions if tp not in held]))

    # ---------------------------------------------------------------- faults

    def _produce(self) -> None:
        for _ in range(self.rng.randint(0, 12)):
            tp = self.rng.choice(self.partitions)
            if self.rng.random() < 0.15:
                self.broker.gap(tp, self.rng.randint(1, 3))
            else:
                key = self.rng.choice((None, b"k1", b"k2", b"k3"))
                self.broker.produce(tp, self.chance.value(), key)

    def _jump(self) -> None:
        """Time passes in which the process does nothing: a slow scheduler, a busy machine."""
        self.clock.advance(self.rng.choice((0.0, 0.001, 0.05, 0.3, 1.0)))

    def _change_device(self) -> None:
        self.scene.device.duration = self.chance.device_speed()

    # ---------------------------------------------------------------- the group

    def _rebalance(self) -> None:
        source = self.scene.source
        if source.rebalances:
            return
        owned = list(source.positions)
        kind = self.rng.choice(("lost", "taken", "given", "nothing"))
        if kind == "lost" and owned:
            self._expel(owned)
        elif kind == "taken" and self.eager:
            self._eager(owned)
        elif kind == "taken":
            taken = self._some(owned)
            source.rebalances.append([("revoked", taken), ("elsewhere", taken)])
        elif kind == "given":
            free = [tp for tp in self.partitions if tp not in owned]
            self._elsewhere(self._some(free))
            source.rebalances.append([("assigned", self._some(free))])
        else:
            source.rebalances.append([("assigned", [])])

    def _eager(self, owned: Collection[TopicPartition]) -> None:
        given = self._some(self.partitions)
        revoke = [("revoked", owned), ("elsewhere", self.partitions)]
        self._together(revoke, [("assigned", given)])

    def _expel(self, owned: Collection[TopicPartition]) -> None:
        """The group gave our partitions away; we hear of it later, perhaps together with a new share."""
        self.broker.generation += 1
        self.disturbances += 1
        for tp in owned:
            self.broker.epochs[tp] += 1
        self._elsewhere(owned)
        self._together([("lost", owned)], [("assigned", self._some(self.partitions))])

    def _together(self, first: Sequence[Rebalance], second: Sequence[Rebalance]) -> None:
        rebalances = self.scene.source.rebalances
        if self.rng.random() < 0.5:
            rebalances.append([*first, *second])
        else:
            rebalances.extend((first, second))

    def _elsewhere(self, partitions: Collection[TopicPartition]) -> None:
        """Another member works on these for a while, without fault, and commits what it wrote."""
        for tp in partitions:
            if self.rng.random() < 0.5 or tp in self.broker.pending:
                continue
            self.broker.epochs[tp] += 1
            start = self.broker.start_of(tp).offset
            offsets = self.broker.logs[tp].readable(start, self.broker.logs[tp].end)
            offsets = offsets[: self.rng.randint(0, len(offsets))]
            self.broker.commit({tp: start})
            for offset in offsets:
                self.broker.append(self.broker.logs[tp].records[offset], self.broker.epochs[tp])
                self.broker.acknowledge(tp, offset)
            if offsets:
                self.broker.commit({tp: offsets[-1] + 1})

    def _some(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        return [tp for tp in partitions if self.rng.random() < 0.7]

    def _counted(self) -> int:
        counts = self.scene.observer.counts
        return counts["given_up"] + counts["send_failed"] + self.chance.refused_now
