"""Leaves alone what keeps failing. Time is an argument."""

from __future__ import annotations


class Breaker:
    """Opens at `threshold` failures in a row. Every `cool_down` seconds after that it lets one trial
    through, and the first success closes it. Owned by one thread; `open` may be read from any."""

    def __init__(self, threshold: int, cool_down: float) -> None:
        self._threshold = threshold
        self._cool_down = cool_down
        self._failures = 0
        self._next_trial = 0.0
        self.open = False

    def allows(self, now: float) -> bool:
        """Whether to try. While open, a yes is the one trial until the next cool-down is over."""
        if not self.open:
            return True
        if now < self._next_trial:
            return False
        self._next_trial = now + self._cool_down
        return True

    def succeeded(self) -> bool:
        """True when this closed it."""
        closed, self.open, self._failures = self.open, False, 0
        return closed

    def failed(self, now: float) -> bool:
        """True when this opened it; a failed trial leaves it open and returns False."""
        self._failures += 1
        if self.open or self._failures < self._threshold:
            return False
        self.open, self._next_trial = True, now + self._cool_down
        return True
