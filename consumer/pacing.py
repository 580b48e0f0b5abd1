"""When to commit, when to send again, when a device hangs. Pure: time is an argument, nothing waits."""

from __future__ import annotations

from collections.abc import Callable

from consumer.errors import Fatal, Infrastructure
from consumer.settings import Commit

_ANSWER_LIMIT = 90.0  # an asynchronous commit that nobody answered for so long was refused
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class CommitPace:
    """Asynchronous commits: one outstanding at most, each `interval`, and at once when half of
    `max_uncommitted` has gathered, but not right after a refusal."""

    def __init__(self, policy: Commit) -> None:
        self._policy = policy
        self._due_at = float("-inf")
        self._asked_at: float | None = None
        self._refused = False

    @property
    def outstanding(self) -> bool:
        """A commit was asked for and is not answered yet."""
        return self._asked_at is not None

    def unanswered(self, now: float) -> bool:
        """The outstanding commit will not be answered any more: call `answered(False)`."""
        return self._asked_at is not None and now - self._asked_at >= _ANSWER_LIMIT

    def due(self, now: float, uncommitted: int) -> bool:
        """Whether to commit now, with so many records durable but uncommitted."""
        if self.outstanding:
            return False
        half = 2 * uncommitted >= self._policy.max_uncommitted and not self._refused
        return half or now >= self._due_at

    def asked(self, now: float) -> None:
        self._asked_at = now
        self._due_at = now + self._policy.interval

    def answered(self, accepted: bool) -> None:
        self._asked_at = None
        self._refused = not accepted

    def hurry(self) -> None:
        """Do not wait for the interval: something was assigned whose first offset may have to be told."""
        self._due_at = float("-inf")


class ResendPace:
    """Back-off between attempts to publish the same batches: doubling pauses, for ever or until
    `give_up_after` seconds of failing."""

    def __init__(self, give_up_after: float | None) -> None:
        self._give_up_after = give_up_after
        self._attempts = 0
        self._failing_since: float | None = None
        self._due_at = float("-inf")

    def may_send(self, now: float) -> bool:
        return now >= self._due_at

    def failed(self, now: float, failure: Infrastructure) -> None:
        """An attempt failed. Raises Fatal when it has been failing for too long."""
        if self._failing_since is None:
            self._failing_since = now
        limit = self._give_up_after
        if limit is not None and now - self._failing_since > limit:
            raise Fatal(f"Results could not be published for {limit:g} s (delivery.give_up_after): {failure}")

    def again(self, now: float) -> None:
        """Nothing of the attempt is outstanding any more: pause, then send again."""
        self._due_at = now + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._attempts, 10))
        self._attempts += 1

    def succeeded(self) -> bool:
        """A batch became durable; returns whether that ends a time of failing."""
        was_failing = self._failing_since is not None
        self._failing_since = None
        self._attempts = 0
        return was_failing


class DeviceWatch:
    """Tells a device that hangs from one that has long texts to work through: it hangs when for `limit`
    seconds neither a micro-batch came back nor the number `finished()`, of device batches, grew. That number
    is looked at ten times in `limit`, so a hang is told a tenth late at most."""

    def __init__(self, limit: float, finished: Callable[[], int]) -> None:
        self._limit = limit
        self._finished = finished
        self._seen = finished()
        self._moved_at = self._looked_at = float("-inf")

    def came_back(self) -> None:
        """A micro-batch is done."""
        self._seen = self._finished()

    def hangs(self, since: float, now: float) -> bool:
        """`since`: when the oldest micro-batch was launched, or the one before it came back."""
        if now - max(since, self._looked_at) < self._limit / 10:
            return False
        self._looked_at = now
        before, self._seen = self._seen, self._finished()
        if self._seen > before:
            self._moved_at = now
        return now - max(since, self._moved_at) > self._limit
