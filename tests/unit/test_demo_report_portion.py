"""How much of a user's own log is learnt: half of it, or what can be learnt in minutes."""

from __future__ import annotations

import random

from consumer.demo.portion import FIT_CHARS, FIT_LINES, learnable


def words(count: int, seed: int) -> bytes:
    """A text that no mask makes equal to another."""
    letters = random.Random(seed)
    return " ".join("".join(letters.choices("ghijklmnop", k=6)) for _ in range(count)).encode()


def test_half_of_a_short_log_is_learnt() -> None:
    assert learnable([words(5, i) for i in range(100)]) == 50


def test_repeats_cost_nothing_so_many_lines_are_learnt() -> None:
    assert learnable([b"connection %d closed" % i for i in range(3 * FIT_LINES)]) == FIT_LINES


def test_learning_ends_where_the_different_texts_have_enough_characters() -> None:
    lines = [words(20, i) for i in range(4_000)]
    learnt = learnable(lines)
    assert learnt < 2_000
    assert sum(map(len, lines[:learnt])) <= FIT_CHARS + len(lines[0])


def test_long_texts_still_give_enough_of_them_for_a_threshold() -> None:
    assert learnable([words(1_000, i) for i in range(400)]) == 150
