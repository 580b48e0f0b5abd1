"""What the demonstration says at its end: counted right, and safe to print."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from consumer.demo import report
from consumer.demo.account import account
from consumer.demo.baselines import judged_by, length_alone, level_alone
from consumer.demo.budget import PARTITION_BYTES, PARTITIONS, fitting, placed, require_fit
from consumer.demo.evaluation import Judged, false_alarms, meets_target, score_of, unseen
from consumer.demo.judging import judge, top
from consumer.demo.labels import COVERED, Kind, Labelled, Truth
from consumer.demo.outputs import DeadLetter, Output, Result, Token
from consumer.demo.screen import Screen, printable
from consumer.errors import Misconfigured


def scored(identity: str, message: str = "a message", *, odd: bool = False, score: float = 1.0) -> Result:
    return Result(identity, "scored", score, odd, 2.0, {"novelty": 0.5}, message)


def normal(item: str, *, flagged: bool = False, known: bool = True, template: str = "t") -> Judged:
    return Judged(Truth(Kind.NORMAL, template, "INFO", item), item, flagged, known)


def odd(kind: Kind, item: str, *, flagged: bool = True) -> Judged:
    return Judged(Truth(kind, "t", "ERROR", item), item, flagged)


def printed(show: object, *arguments: object) -> str:
    sink = io.StringIO()
    assert callable(show)
    show(Screen(Console(file=sink, width=200)), *arguments)
    return sink.getvalue()


# Where every record went


def test_one_output_for_each_record_is_exact() -> None:
    found = account(["a", "b"], {"a": [scored("a")], "b": [DeadLetter("b", "undecodable")]})
    assert found.exact
    assert found.outcomes == {"scored": 1, "dead letter: undecodable": 1}


@pytest.mark.parametrize(
    ("outputs", "missing", "duplicated", "unknown"),
    [
        ({"a": [scored("a")]}, 1, 0, 0),
        ({"a": [scored("a"), scored("a")], "b": [scored("b")]}, 0, 1, 0),
        ({"a": [scored("a")], "b": [scored("b"), DeadLetter("b", "poison")]}, 0, 1, 0),
        ({"a": [scored("a")], "b": [scored("b")], "c": [scored("c")]}, 0, 0, 1),
    ],
)
def test_missing_repeated_and_unknown_ids_are_told_apart_and_none_is_exact(
    outputs: dict[str, list[Output]], missing: int, duplicated: int, unknown: int
) -> None:
    found = account(["a", "b"], outputs)
    assert (found.missing, found.duplicated, found.unknown) == (missing, duplicated, unknown)
    assert not found.exact


def test_two_records_with_one_id_are_a_bug_of_ours() -> None:
    with pytest.raises(ValueError, match="same id"):
        account(["a", "a"], {})


# How much was found


def test_repeats_of_one_text_are_one_false_alarm_and_the_raw_count_stands_beside_it() -> None:
    judged = [*(normal("x", flagged=True) for _ in range(5)), *(normal(str(i)) for i in range(95))]
    alarms = false_alarms(judged)
    assert (alarms.texts, alarms.raw) == (1, 5)
    assert (alarms.rate, alarms.raw_rate) == (0.01, 0.05)


def test_recall_counts_records_and_precision_counts_texts() -> None:
    judged = [
        odd(Kind.ODD_TOKEN, "a"),
        odd(Kind.ODD_TOKEN, "a"),
        odd(Kind.ODD_TOKEN, "b", flagged=False),
        normal("x", flagged=True),
        normal("x", flagged=True),
    ]
    score = score_of(judged, Kind.ODD_TOKEN)
    assert score.recall == pytest.approx(2 / 3)
    assert score.precision == 0.5


def test_what_is_not_covered_is_no_false_alarm() -> None:
    assert false_alarms([odd(Kind.BURST, "a"), normal("x")]).texts == 0


def found_except(kind: Kind, missed: int) -> list[Judged]:
    """Ten of each covered kind, all found but `missed` of one, and 1,000 normal records."""
    return [
        *(odd(k, f"{k}{i}", flagged=k is not kind or i >= missed) for k in COVERED for i in range(10)),
        *(normal(str(i)) for i in range(1_000)),
    ]


def test_the_target_asks_for_seven_tenths_of_every_kind() -> None:
    assert meets_target(found_except(Kind.RARE_LEVEL, 3))
    assert not meets_target(found_except(Kind.RARE_LEVEL, 4))


def test_the_target_allows_one_false_alarm_in_a_hundred() -> None:
    assert meets_target(
        [*found_except(Kind.ODD_TOKEN, 0), *(normal(f"f{i}", flagged=True) for i in range(10))]
    )
    assert not meets_target(
        [*found_except(Kind.ODD_TOKEN, 0), *(normal(f"f{i}", flagged=True) for i in range(11))]
    )


def test_unseen_counts_texts_by_the_model_and_templates_by_the_pool() -> None:
    judged = [
        normal("a", template="old"),
        normal("b", known=False, template="old"),
        normal("c", template="new"),
    ]
    found = unseen(judged, {"old"})
    assert (found.unseen_texts, found.texts, found.unseen_templates, found.templates) == (1, 3, 1, 2)
    assert found.text_records == pytest.approx(1 / 3)
    assert found.template_records == pytest.approx(1 / 3)


# Labels and outputs


def test_labels_meet_outputs_by_id_and_a_malformed_record_is_found_when_it_is_dead_lettered() -> None:
    labelled = [
        Labelled(b"x", None, Truth(Kind.NORMAL, "t", "-", "x")),
        Labelled(b"{", None, Truth(Kind.MALFORMED)),
        Labelled(b"y", None, Truth(Kind.ODD_TOKEN, "t", "-", "y")),
        Labelled(b"z", None, Truth(Kind.ODD_ORDER, "t", "-", "z")),
    ]
    outputs: dict[str, list[Output]] = {
        "2": [scored("2", "y", odd=True)],
        "1": [DeadLetter("1", "undecodable")],
        "0": [scored("0", "x")],
    }
    judged = judge(labelled, ["0", "1", "2", "3"], outputs)
    assert [each.flagged for each in judged] == [False, True, True, False]


def test_a_result_without_any_part_is_of_a_text_that_the_model_knew() -> None:
    assert not scored("a").known
    assert Result("a", "scored", 1.0, parts={"novelty": None, "severity": None}).known


def test_the_top_shows_each_text_once_and_the_oddest_first() -> None:
    outputs = [
        [scored("a", "disk 1 lost", odd=True, score=3.0)],
        [scored("b", "disk 2 lost", odd=True, score=3.0)],
        [scored("c", "fire", odd=True, score=4.0)],
        [scored("d", "fine", score=9.0)],
    ]
    results, flagged = top(outputs, 10)
    assert [result.id for result in results] == ["c", "a"]
    assert flagged == 2


# Baselines


def test_the_level_baseline_flags_the_rarest_levels_up_to_its_false_alarms() -> None:
    reference = [Truth(Kind.NORMAL, "t", "INFO", "m")] * 99 + [Truth(Kind.NORMAL, "t", "WARN", "m")]
    judged = [
        *(normal(str(i)) for i in range(200)),
        Judged(Truth(Kind.RARE_LEVEL, "t", "FATAL", "m"), "x", flagged=False),
        Judged(Truth(Kind.ODD_TOKEN, "t", "INFO", "m"), "y", flagged=True),
    ]
    flagged = judged_by(level_alone(reference), judged)
    assert score_of(flagged, Kind.RARE_LEVEL).recall == 1.0
    assert score_of(flagged, Kind.ODD_TOKEN).recall == 0.0
    assert false_alarms(flagged).rate == 0.0


def test_the_length_baseline_finds_what_is_far_from_the_usual_length() -> None:
    reference = [Truth(Kind.NORMAL, "t", "INFO", "x" * n) for n in range(20, 30)]
    judged = [
        *(normal("x" * (20 + i % 10)) for i in range(1_000)),
        odd(Kind.NEW_MESSAGE, "x" * 900, flagged=False),
    ]
    assert score_of(judged_by(length_alone(reference), judged), Kind.NEW_MESSAGE).recall == 1.0


# Size


def test_a_run_that_the_cluster_would_forget_is_refused_with_the_number_that_fits() -> None:
    sent = placed([(None, b"x" * 1_000)] * 40_000)
    with pytest.raises(Misconfigured, match="at most"):
        require_fit(sent)
    require_fit(sent[: fitting(sent)])


def test_what_fits_stays_under_the_limit_of_every_partition_even_if_every_byte_is_escaped() -> None:
    value = b'"' * 900
    sent = placed([(b"host", value)] * 40_000)
    kept = fitting(sent)
    assert 0 < kept < 40_000
    assert kept * (2 * len(value) + 1_000) < PARTITION_BYTES


def test_keyless_records_go_to_all_partitions_in_turn_and_keyed_ones_stay_together() -> None:
    assert {s.partition for s in placed([(None, b"x")] * PARTITIONS)} == set(range(PARTITIONS))
    assert len({s.partition for s in placed([(b"host", b"x")] * 50)}) == 1


# What is printed

HOSTILE = "evil\x1b[31m\u202etxt\x07 \x9b2J\u2066 line\r\n next\ud800"


def test_no_control_or_bidi_character_reaches_the_terminal() -> None:
    result = Result("a", "scored", 5.0, True, message=HOSTILE, tokens=(Token(0, 9, 3.0),), level="E\x1b")
    text = printed(report.show_top, [result], {"a": "new message"}, 1)
    assert not set(text) & set("\x1b\u202e\x07\x9b\u2066\r\ud800")
    assert "line ↵ next" in text


def test_surprising_words_are_set_off_where_there_are_no_colours() -> None:
    result = Result("a", "scored", 5.0, True, message="out of memory", tokens=(Token(7, 13, 3.0),))
    assert "out of »memory«" in printed(report.show_top, [result], {}, 1)


def test_surprising_words_are_coloured_on_a_terminal() -> None:
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", width=200, legacy_windows=False
    )
    text = Screen(console).marked("out of memory", [(7, 13)], 100)
    assert text.plain == "out of memory"
    assert [(span.start, span.end) for span in text.spans] == [(7, 13)]


def test_a_long_message_is_shown_from_near_its_first_surprising_word() -> None:
    message = "x" * 5_000 + "BANG" + "y" * 5_000
    text = Screen(Console(file=io.StringIO())).marked(message, [(5_000, 5_004)], 120)
    assert "»BANG«" in text.plain
    assert len(text.plain) <= 120


def test_markup_in_a_log_line_is_printed_as_it_is() -> None:
    result = Result("a", "scored", 5.0, True, message="[bold]x[/bold] [link=a]")
    assert "[bold]x[/bold] [link=a]" in printed(report.show_top, [result], {}, 1)


def test_printable_keeps_letters_of_all_scripts() -> None:
    assert printable("Ünïcode 漢字 привет") == "Ünïcode 漢字 привет"


def test_the_account_names_what_is_missing_and_what_was_forgotten() -> None:
    text = printed(report.show_account, account(["a", "b"], {"a": [scored("a")]}), ["events[3]"], True)
    assert "missing                          1" in text
    assert "events[3]" in text


def test_the_verdict_says_when_the_targets_were_missed() -> None:
    text = printed(report.show_verdict, True, [0, 0], found_except(Kind.NEW_MESSAGE, 9))
    assert "exactly one output record" in text
    assert "Missed" in text


def test_the_verdict_names_exit_codes_of_replicas_that_ended_badly() -> None:
    assert "1, 0" in printed(report.show_verdict, True, [1, 0])
    assert "replica" not in printed(report.show_verdict, True, [0, 0])
