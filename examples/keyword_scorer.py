"""A scorer of one's own in a few lines: `consumer run --set scoring.factory=keyword_scorer:make_scorer`."""

from consumer.records import Event
from consumer.settings import Scoring

WEIGHTS = {"error": 1.0, "fail": 1.0, "panic": 3.0, "corrupt": 3.0}


class Keywords:
    name, version, threshold = "keywords", "1", 2.0

    def score(self, events: list[Event]) -> list[float]:
        texts = [event.message.lower() for event in events]
        return [sum(w for word, w in WEIGHTS.items() if word in text) for text in texts]


def make_scorer(_: Scoring) -> Keywords:
    return Keywords()
