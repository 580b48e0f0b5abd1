"""What a fit says when it is done."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from consumer.cli_fit_input import Collected
from consumer.cli_fit_summary import Written, summary, warnings
from consumer.scoring.fit import Odd, learn
from consumer.scoring.known import Tally
from consumer.scoring.severity import Severity


def learnt(texts: int, repeats: int, full: bool = False) -> tuple[Collected, Written]:
    tally = Tally(1_000)
    for i in range(texts * repeats):
        tally.add(f"text {chr(97 + i % texts)}")
    rejected = Counter({"oversize": 2, "invalid": 1})
    collected = Collected(tally, texts * repeats + 4, 1, rejected, ["a.log line 3: oversize: long"], full)
    model, _ = learn(tally, [Severity()])
    odd = tuple(Odd(f"odd {i} " + "x" * 200, 9.0 - i) for i in range(7))
    return collected, Written(model, odd, Path("out/m"), "web", "0123abcd")


def test_what_was_read_rejected_learnt_and_supported_is_told() -> None:
    told = "\n".join(summary(*learnt(10, 5), seconds=61.2))
    assert "54 records, 1 of them empty" in told
    assert "3 (2 oversize, 1 invalid)" in told
    assert "a.log line 3: oversize: long" in told
    assert "learnt from: 50 records, 10 different texts" in told
    assert "held out:    10 texts" in told
    assert "down to 0.018 of all records" in told  # (10/50)/(10 + 1)
    assert "known texts: 10 of 10 kept" in told
    assert "out/m (name web, version 0123abcd)" in told
    assert "61 s" in told


def test_the_oddest_five_of_the_odd_texts_are_shown_cut_short() -> None:
    lines = summary(*learnt(10, 5), seconds=1)
    start = next(i for i, line in enumerate(lines) if "7 texts that look odd" in line)
    assert [line.split()[:3] for line in lines[start + 1 : start + 6]] == [
        [f"{9.0 - i:.1f}", "odd", str(i)] for i in range(5)
    ]
    assert lines[start + 6].startswith("model:")
    assert all(len(line) < 110 for line in lines)


def test_a_rate_that_the_texts_cannot_support_is_warned_of() -> None:
    collected, written = learnt(10, 5)
    assert list(warnings(collected, written.model, 0.02)) == []
    (line,) = warnings(collected, written.model, 0.01)
    assert "0.01 is less than 0.018" in line


def test_a_fit_that_ran_out_of_room_says_what_to_do() -> None:
    collected, written = learnt(10, 5, full=True)
    (line,) = warnings(collected, written.model, 0.5)
    assert "--mask" in line
