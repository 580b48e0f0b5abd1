"""What a storm is fed with: good records, bad ones, tombstones, and events that come again."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

import msgspec

from tests.kafka.collect import Item
from tests.kafka.history import TWIN
from tests.kafka.items import mixed

_BAD_EVERY = 40
_TWIN_EVERY = 50
_FARTHEST = 400  # records between an event and the same one again


def storm_items(count: int, seed: int) -> Iterator[Item]:
    """`count` records. Of some events the same value comes again later, under another key or the same."""
    rng = random.Random(f"twins of {seed}")
    coming: deque[tuple[int, Item]] = deque()
    fresh = mixed(count, seed, _BAD_EVERY)
    for number in range(count):
        if coming and coming[0][0] <= number:
            yield coming.popleft()[1]
            continue
        item = next(fresh)
        if number % _TWIN_EVERY == 0 and _is_event(item):
            item = _with_id(item, f"{seed}-{number}")
            again = item._replace(key=rng.choice([item.key, b"host-%d" % rng.randrange(60)]))
            coming.append((number + rng.randrange(1, _FARTHEST), again))
        yield item


def _is_event(item: Item) -> bool:
    return item.expected == "scored" and (item.value or b"").startswith(b"{")


def _with_id(item: Item, event_id: str) -> Item:
    event = msgspec.json.decode(item.value or b"")
    return item._replace(value=msgspec.json.encode({**event, "id": event_id}), expected=TWIN)
