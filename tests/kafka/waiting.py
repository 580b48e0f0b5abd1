"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(what: str, happened: Callable[[], object], timeout: float, every: float = 0.05) -> object:
    """The first true value of `happened()`; raises AssertionError naming `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not (value := happened()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout:g} s")
        time.sleep(every)
    return value
