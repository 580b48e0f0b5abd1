"""One observer that is several."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from consumer.ports import Observer

_log = logging.getLogger(__name__)

EVENTS = tuple(name for name in vars(Observer) if not name.startswith("_"))


class FanOut(Observer):
    """Tells every observer what happened, in the given order.

    Never raises: an observer that fails is logged once per kind of event, and told again next time. What
    watches the work must not be able to stop it.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)
        self._failed: set[tuple[int, str]] = set()

    def _tell(self, event: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for observer in self._observers:
            try:
                getattr(observer, event)(*args, **kwargs)
            except Exception:
                self._report(observer, event)

    def _report(self, observer: Observer, event: str) -> None:
        if (id(observer), event) in self._failed:
            return
        self._failed.add((id(observer), event))
        fields = {"action": "observer_failed", "observer": type(observer).__name__, "event": event}
        _log.exception("an observer failed; further failures of this kind are not logged", extra=fields)


def _forward(event: str) -> Callable[..., None]:
    def told(self: FanOut, *args: Any, **kwargs: Any) -> None:
        self._tell(event, args, kwargs)

    return told


for _event in EVENTS:  # so that an event added to Observer is forwarded without a line here
    setattr(FanOut, _event, _forward(_event))
