"""The normaliser: what is masked, what is left, and that nothing depends on what came before."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumer.normalize import BLANK, Mask, Masks, Normalizer, level_prefix

# Texts of what masks care about: digits, hexadecimal letters, marks, words, white space, controls.
_WORDS = ["0", "7", "12", "9f", "abc", "x", "0x", "rand", "Jan", "T", "Z", "127.0.0.1", "de:ad:be:ef:00:01"]
_MARKS = [":", "::", ".", "-", "_", "/", "@", "e-5", "<n>", "\u00e9", "\ud800"]
_BLANKS = [" ", "  ", "\t", "\r\n", "\x1b[31m", "\x1b", "\0"]
_PIECES = st.sampled_from([*_WORDS, *_MARKS, *_BLANKS])
TEXTS = st.lists(_PIECES | st.text(max_size=4), max_size=14).map("".join)
NORMALIZER = Normalizer()


def normalized(message: str) -> str:
    return Normalizer().normalize(message)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("took 12 ms", "took <n> ms"),
        ("took -1.5e-7 s", "took <n> s"),
        ("at 0x00e462c0, mask 0X1F", "at <n>, mask <n>"),
        ("iar 001064fc dear 02450064", "iar <n> dear <n>"),
        ("req-38101a0b-2096-447d-96ea-a692162415ae done", "req-<id> done"),
        ("from 10.251.73.220:50010 to 10.0.0.0/8", "from <ip> to <ip>"),
        ("version 6.1.7601.23505", "version <n>"),
        ("peer fe80::1 and ::1 up", "peer <ip> and <ip> up"),
        ("std::vector stays", "std::vector stays"),
        ("mac 00:1B:44:11:3a:b7 seen", "mac <mac> seen"),
        ("mail to john.doe+x@mail.example.com now", "mail to <email> now"),
        ("2015-10-18T18:01:47,978Z start", "<time> start"),
        ("Jun  9 06:06:20 combo syslogd", "<time> combo syslogd"),
        ("[Sun Dec 04 04:47:44 2005] [notice]", "[<time>] [notice]"),
        ('"10/Oct/2000:13:55:36 -0700" GET', '"<time>" GET'),
        ("blk_-6952295868487656571 and blk_388", "blk_<n> and blk_<n>"),
        ("R26-M0-ND-C:J03-U01 failed", "<id> failed"),
        ("open /usr/lib/x86/very/deep.so", "open <path>"),
        ("open /etc/passwd", "open /etc/passwd"),
        ("../../../../etc/passwd", "../../../../etc/passwd"),
        ("1' OR '1'='1", "<n>' OR '<n>'='<n>"),
        ("<script>alert(1)</script>", "<script>alert(<n>)</script>"),
    ],
)
def test_variables_are_masked_and_what_is_odd_stays(message: str, text: str) -> None:
    assert normalized(message) == text


def test_a_number_glued_to_a_word_is_one_mask_and_the_word_stays() -> None:
    assert normalized("subdir12/subdir7") == "subdir<n>/subdir<n>"
    assert normalized("rand") != normalized("rand4")


def test_masks_that_touch_and_equal_masks_with_a_blank_between_become_one() -> None:
    rules = Masks((Mask("x", "x"), Mask("y", "y"), Mask("n", "[0-9]+")))
    assert Normalizer(rules).normalize("ax12y b") == "a<x> b"
    assert Normalizer(rules).normalize("1 2  3\n4 x 5") == "<n> <x> <n>"


def test_line_ends_controls_and_colours_do_not_show() -> None:
    plain = normalized("disk full on sda")
    variants = [
        "disk full on sda\r\n",
        "\x1b[31mdisk full\x1b[0m on sda\n",
        "disk\tfull \x00 on\u2028sda",
        " disk full  on sda ",
    ]
    assert {normalized(each) for each in variants} == {plain}


@settings(deadline=None)
@given(TEXTS)
def test_a_normalised_text_is_bounded_free_of_controls_and_can_be_encoded(message: str) -> None:
    text = NORMALIZER.normalize(message)
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in text)
    assert text == text.strip(" ")
    assert len(text) <= 9 * len(message)  # the longest mask stands for at least one character
    text.encode()


@settings(deadline=None)
@given(TEXTS, TEXTS)
@example("rand", "rand4")
@example("HTTP 200", "HTTP 500")
@example("user  in", "user 1234567 in")
def test_equal_first_level_keys_mean_equal_texts(message: str, other: str) -> None:
    """The proof's claim, tried: only which digit a digit is may differ between two texts of one key."""
    assert NORMALIZER.masks.blind()
    digits = iter(c for c in other if c in "0123456789")
    twin = "".join(next(digits, "0") if c in "0123456789" else c for c in message)
    assert Normalizer().normalize(message) == Normalizer().normalize(twin)


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.randoms())
def test_normalising_does_not_depend_on_what_was_normalised_before(
    messages: list[str], random: object
) -> None:
    used = Normalizer(memory_chars=60)  # small, so that it forgets in the middle
    shuffled = list(messages)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for message in [*messages, *shuffled]:
        assert used.normalize(message) == Normalizer().normalize(message)


@settings(deadline=None)
@given(TEXTS)
def test_spans_give_the_same_text_and_places_that_never_go_back(message: str) -> None:
    text, starts, ends = spans = NORMALIZER.spans(message)
    assert text == NORMALIZER.normalize(message)
    assert len(starts) == len(ends) == len(text)
    assert list(starts) == sorted(starts)
    assert list(ends) == sorted(ends)
    assert all(0 <= a < b <= len(message) for a, b in zip(starts, ends, strict=True))
    if text:
        assert spans.original(0, len(text)) == (starts[0], ends[-1])


def test_a_span_of_a_mask_is_all_that_it_stands_for() -> None:
    message = "\tuser 12 34 in"
    spans = Normalizer().spans(message)
    start = spans.text.index("<n>")
    first, last = spans.original(start + 1, start + 2)
    assert message[first:last] == "12 34"


def test_memory_stays_bounded_and_results_stay_right() -> None:
    used = Normalizer(memory_chars=2_000)
    for i in range(3_000):
        assert used.normalize(f"user {'x' * (i % 50)} {i} in") == f"user {'x' * (i % 50)} <n> in".replace(
            "  ", " "
        )
    assert (
        sum(len(k) + len(v) for half in (used._memory._young, used._memory._old) for k, v in half.items())
        <= 2_000
    )


@pytest.mark.parametrize(
    "rules",
    [
        (Mask("n", "[1-9]+"), Mask("n", "[0-9]+")),  # tells 0 from the others
        (Mask("h", "0x[0-9a-f]+"), Mask("n", "[0-9]+")),  # spells a digit
        (Mask("w", "[a-z]+"),),  # leaves digits in the text
        (Mask("w", "[^5]x"), Mask("n", "[0-9]+")),
        (Mask("w", "(?:a|b(?=7))"), Mask("n", "[0-9]+")),
    ],
)
def test_the_fast_key_is_off_for_masks_that_see_which_digit_it_is(rules: tuple[Mask, ...]) -> None:
    assert not Masks(rules).blind()
    used = Normalizer(Masks(rules))
    for message in ["1", "0", "0x5", "7x5", "b7", "b8", "5x", "6x"] * 2:
        assert used.normalize(message) == Normalizer(Masks(rules)).normalize(message)


@pytest.mark.parametrize(
    ("mask", "part"),
    [
        (Mask("n", "[0-9"), "not a regular expression"),
        (Mask("n", "[0-9]*"), "matches the empty text"),
        (Mask("n", r"([0-9])\1"), "back-reference"),
        (Mask("n", "(?P<m1>a)"), "named group"),
        (Mask("n", "(?i)a"), "flag"),
        (Mask("N!", "a"), "a name is"),
    ],
)
def test_a_mask_that_cannot_work_is_named_with_its_fix(mask: Mask, part: str) -> None:
    problems = Masks((mask,)).problems()
    assert len(problems) == 1
    assert part in problems[0]
    assert mask.pattern in problems[0]


def test_a_mask_with_branches_at_its_top_keeps_its_meaning() -> None:
    edge = r"(?<![A-Za-z0-9])"
    rules = Masks((Mask("a", rf"{edge}foo|bar"), Mask("n", "[0-9]+")))
    assert Normalizer(rules).normalize("foo xbar xfoo") == "<a> x<a> xfoo"


def test_the_level_leads_in_lower_case_and_bounded() -> None:
    assert Normalizer().model_input("ERROR", "disk 7 full") == "<error> disk <n> full"
    assert Normalizer().model_input(None, "disk 7 full") == "disk <n> full"
    assert level_prefix("<b>" * 100) == f"<{'b' * 16}> "
    assert level_prefix(" \n") == ""


def test_a_message_of_white_space_still_has_a_model_input() -> None:
    assert Normalizer().model_input(None, " \x00\n") == BLANK


@pytest.mark.parametrize(
    "unit", ["a", "1", ".", "a.", "a-", "/", ":", "1:", "@", " ", "f:", "a1", "Jan ", "/a", "-"]
)
def test_the_work_grows_with_the_length_of_a_text_not_with_its_square(unit: str) -> None:
    """Eight times the text: about 8 times the processor time, where a square would be 64 times."""

    def work(chars: int) -> float:
        text, best = unit * (chars // len(unit)), float("inf")
        for _ in range(2):
            start = time.process_time()
            Normalizer().normalize(text)
            best = min(best, time.process_time() - start)
        return best

    assert work(64_000) < 32 * work(8_000)


def _data() -> Path | None:
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("CONSUMER_TEST_DATA") or root.parent / "shared" / "data")
    return folder if folder.is_dir() else None


def _lines(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    yield from content.decode("utf-8", "replace").splitlines()


@pytest.mark.skipif(_data() is None, reason="no log data: set CONSUMER_TEST_DATA to a folder with it")
@pytest.mark.parametrize(
    ("file", "most"), [("loghub_2k/BGL_2k.log", 200), ("loghub_2k/HDFS_2k.log", 40), ("linux.log.gz", 1_200)]
)
def test_system_logs_leave_few_distinct_texts(file: str, most: int) -> None:
    folder = _data()
    assert folder is not None
    cut = "BGL" in file  # its first field is the label
    texts = {NORMALIZER.normalize(line.split(" ", 1)[1] if cut else line) for line in _lines(folder / file)}
    assert 10 <= len(texts) <= most
