"""`scoring.factory`: a scorer that comes from somebody else's code. docs/own-model.md."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable
from typing import Any

from consumer.errors import ConsumerError, Misconfigured
from consumer.ports import Scorer
from consumer.scoring.simple import Simple
from consumer.settings import Scoring

_FULL = ("model", "submit", "stats", "self_test", "close")
_SIMPLE = ("name", "version", "threshold", "score")


def load_own(scoring: Scoring) -> Scorer:
    """Import what `scoring.factory` names, call it with the settings of [scoring], and try the scorer on
    a reference event. Blocks as long as that takes. Raises Misconfigured with one line that names the
    setting and the place in the code."""
    spec = scoring.factory or ""
    made = _call(spec, _resolve(spec), scoring)
    if hasattr(made, "submit"):
        _require(spec, made, _FULL)
        scorer: Scorer = made
        return _tried(spec, lambda: scorer if scorer.self_test() else None)
    _require(spec, made, _SIMPLE)
    return _tried(spec, lambda: Simple(made, scoring.stall_after))


def _resolve(spec: str) -> Callable[[Scoring], Any]:
    module_name, _, path = spec.partition(":")
    if not (module_name and path):
        raise _wrong(spec, "is not of the form package.module:function")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        fix = "install it into this environment, or put its folder on PYTHONPATH"
        raise _wrong(spec, f"cannot be imported: {error}; {fix}") from error
    except Exception as error:
        raise _wrong(spec, f"cannot be imported: {_told(error)}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise _wrong(spec, f"{module_name} has no {path}")
        found = getattr(found, name)
    if not callable(found):
        raise _wrong(spec, f"{path} is not callable; name a function that returns a scorer")
    factory: Callable[[Scoring], Any] = found
    return factory


def _call(spec: str, factory: Callable[[Scoring], Any], scoring: Scoring) -> Any:
    try:
        return factory(scoring)
    except Misconfigured:
        raise
    except Exception as error:
        raise _wrong(spec, f"failed to make a scorer: {_told(error)}") from error


def _require(spec: str, made: object, names: tuple[str, ...]) -> None:
    missing = [name for name in names if not hasattr(made, name)]
    if missing:
        what = f"returned a {type(made).__name__} without {', '.join(missing)}"
        raise _wrong(spec, f"{what}; docs/own-model.md says what a scorer needs")


def _tried(spec: str, attempt: Callable[[], Scorer | None]) -> Scorer:
    try:
        scorer = attempt()
    except Exception as error:
        raise _wrong(spec, f"the scorer fails on its reference event: {_told(error)}") from error
    if scorer is None:
        raise _wrong(spec, "self_test() of its scorer is false: the model or the device is broken")
    return scorer


def _told(error: BaseException) -> str:
    """What was raised and where, in one line: a ScorerFailed tells of what it was raised for."""
    cause = error.__cause__ if isinstance(error, ConsumerError) and error.__cause__ else error
    what = str(error) if isinstance(error, ConsumerError) else f"{type(error).__name__}: {error}"
    frames = [] if isinstance(cause, ConsumerError) else traceback.extract_tb(cause.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return " ".join(f"{what}{place}".split())


def _wrong(spec: str, what: str) -> Misconfigured:
    return Misconfigured([f"scoring.factory = {spec!r}: {what}"])
