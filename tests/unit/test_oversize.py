"""Who is to blame when a broker refuses a whole request as too large."""

from __future__ import annotations

from collections.abc import Sequence

from consumer.kafka.messages import Outgoing
from consumer.kafka.oversize import DEAD_LETTER_TOO_LARGE, TOO_LARGE, Oversize
from consumer.records import Entry, Event, Output, Record, Score


def _outputs(count: int) -> list[Output]:
    score = Score(1.0, is_anomaly=False, threshold=2.0)
    return [Output(Entry(Record("in", 0, n, b"v", None), Event("v")), score) for n in range(count)]


def _groups(oversize: Oversize, outputs: Sequence[Output]) -> list[tuple[bool, list[bytes | None]]]:
    messages = [Outgoing("out", b"%d" % n, None, 0, []) for n in range(len(outputs))]
    return [(alone, [m.value for m in group]) for alone, group in oversize.groups(outputs, messages)]


def test_without_a_suspect_all_may_share_a_request() -> None:
    assert _groups(Oversize(), _outputs(3)) == [(False, [b"0", b"1", b"2"])]


def test_each_suspect_travels_alone_and_the_order_stays() -> None:
    outputs, oversize = _outputs(6), Oversize()
    oversize.refused(outputs[2:4])
    assert oversize.judged() is None
    assert _groups(oversize, outputs) == [
        (False, [b"0", b"1"]),
        (True, [b"2"]),
        (True, [b"3"]),
        (False, [b"4", b"5"]),
    ]
    assert oversize.replaced(outputs) is outputs


def test_the_suspect_that_is_refused_alone_is_replaced_and_no_other() -> None:
    outputs, oversize = _outputs(3), Oversize()
    oversize.refused(outputs)
    oversize.judged()
    oversize.refused([outputs[1]])
    assert oversize.judged() is None
    assert [o.verdict is TOO_LARGE for o in oversize.replaced(outputs)] == [False, True, False]


def test_a_dead_letter_that_is_refused_too_is_named_as_hopeless() -> None:
    outputs, oversize = _outputs(1), Oversize()
    for expected in (None, None, DEAD_LETTER_TOO_LARGE):
        oversize.refused(outputs)
        assert oversize.judged() == expected


def test_a_committed_transaction_clears_its_suspects() -> None:
    outputs, oversize = _outputs(2), Oversize()
    for _ in range(2):
        oversize.refused(outputs)
        oversize.judged()
    oversize.clear()
    assert oversize.replaced(outputs) is outputs
    assert _groups(oversize, outputs) == [(False, [b"0", b"1"])]
