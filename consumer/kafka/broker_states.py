"""What the client's statistics say about its connections."""

from __future__ import annotations

import msgspec


class _Broker(msgspec.Struct):
    state: str = ""


class _Statistics(msgspec.Struct):
    brokers: dict[str, _Broker] = {}


_decoder = msgspec.json.Decoder(_Statistics)


def any_broker_up(statistics: str) -> bool:
    """Whether at least one connection to a broker stands."""
    return any(broker.state == "UP" for broker in _decoder.decode(statistics).brokers.values())
