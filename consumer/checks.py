"""Everything that can be known to be wrong before the work begins, all at once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from consumer.errors import Misconfigured
from consumer.loading import DEFAULT, Loaded, redacted
from consumer.masking import shown
from consumer.settings import Settings

_CONNECTION = ("bootstrap_", "security_", "allow_plaintext", "sasl_", "ssl_", "oauth_")


class Findings(msgspec.Struct, frozen=True):
    """One line each: what must be mended, what should be, and what was seen or could not be."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            self.problems + other.problems, self.warnings + other.warnings, self.notes + other.notes
        )


def check_all(loaded: Loaded, timeout: float) -> Findings:
    """Settings, client configuration, brokers, topics, Redis and model. Never raises for what it looks for.

    A refused setting stands in with its default, so that one mistake does not hide the others; only
    where the mistake is in the connection itself are brokers and topics not asked.
    """
    return (
        Findings(problems=loaded.problems)
        + _check_kafka(loaded, timeout)
        + _check_redis(loaded)
        + _check_model(loaded.settings, loaded.origins.get("scoring.model", DEFAULT))
    )


def _check_kafka(loaded: Loaded, timeout: float) -> Findings:
    wrong = sorted(name for name in loaded.troubled if name.startswith(_connection_keys()))
    if wrong:
        return Findings(notes=(f"brokers and topics: not checked before {', '.join(wrong)} is mended",))
    return _guarded(lambda: _ask_kafka(loaded.settings, timeout))


def _connection_keys() -> tuple[str, ...]:
    return tuple(f"kafka.{start}" for start in _CONNECTION)


def _ask_kafka(settings: Settings, timeout: float) -> Findings:
    from consumer.kafka.admin import inspect  # noqa: PLC0415 - the client loads only when it is asked

    report = inspect(settings, timeout)
    return Findings(report.unreachable + report.problems, report.warnings, report.notes)


def _check_redis(loaded: Loaded) -> Findings:
    """Only a warning: the service works without it."""
    settings = loaded.settings
    if settings.redis.url is None:
        return Findings()
    if wrong := sorted(name for name in loaded.troubled if name.startswith("redis.")):
        return Findings(notes=(f"redis: not checked before {', '.join(wrong)} is mended",))
    from consumer.stores.redis_store import trouble_with  # noqa: PLC0415 - likewise

    why = trouble_with(settings.redis)
    if why is None:
        return Findings(notes=("redis: answers",))
    origin = loaded.origins.get("redis.url", DEFAULT)
    what = f"redis.url = {shown(settings.redis.url)} ({origin}): does not answer: {redacted(why, settings)}"
    return Findings(warnings=(f"{what}; until it does, nothing is shared",))


def _check_model(settings: Settings, origin: str) -> Findings:
    if settings.scoring.factory is not None:
        return _guarded(lambda: _try_own(settings))
    model = settings.scoring.model
    if model is None:
        fix = "learn one from your own records with `consumer fit`, or try the bundled one: --model demo"
        return Findings(problems=(f"scoring.model = unset ({origin}): {fix}",))
    found = _guarded(lambda: _verify_model(model))
    where = f"scoring.model = {shown(model)} ({origin})"
    return Findings(tuple(f"{where}: {problem}" for problem in found.problems), notes=found.notes)


def _verify_model(model: str) -> Findings:
    from consumer.scoring.model_dir import verify  # noqa: PLC0415 - only a check of a model needs it

    return Findings(notes=(f"model: {verify(model)}",))


def _try_own(settings: Settings) -> Findings:
    from consumer.scoring.own import load_own  # noqa: PLC0415 - nothing else of a check runs their code

    scorer = load_own(settings.scoring)
    scorer.close()
    return Findings(notes=(f"model: {shown(scorer.model.name)}, version {shown(scorer.model.version)}",))


def _guarded(look: Callable[[], Findings]) -> Findings:
    try:
        return look()
    except Misconfigured as error:
        return Findings(problems=error.problems)
