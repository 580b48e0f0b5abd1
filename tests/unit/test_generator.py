"""The generator: seeded in its wording, honest in what it hides."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import islice

import pytest

from consumer.codec import EventCodec
from consumer.demo.fleet import build_fleet, incidents
from consumer.demo.formats import JSON_SERVICES, LEVELS_NEVER_USED
from consumer.demo.generator import ONLY_NORMAL, WITH_ANOMALIES, generate
from consumer.demo.grammar import incident_shapes, normal_shapes, seeded, slots_of, word_lists
from consumer.demo.labels import COVERED, NOT_COVERED, Kind, Labelled
from consumer.demo.pool import POOL_SEEDS, pool_templates
from consumer.demo.slots import GENERATED
from consumer.records import Empty, Event, Record, Rejection
from consumer.settings import Input

SEEDS = (1, 2, 3)


@lru_cache(maxsize=32)
def run(seed: int, records: int = 2_000) -> list[Labelled]:
    return list(generate(seed, records))


def decoded(each: Labelled) -> Event | Empty | Rejection:
    return EventCodec(Input()).decode(Record("events", 0, 0, each.value))


def templates(records: list[Labelled]) -> set[str]:
    return {each.truth.template for each in records if each.truth.kind is Kind.NORMAL}


def test_the_same_seed_gives_the_same_records_byte_for_byte() -> None:
    assert run(5) == list(generate(5, 2_000))


def test_another_seed_changes_the_wording_and_not_only_the_numbers() -> None:
    one, other = templates(run(1)), templates(run(2))
    assert len(one & other) < 0.7 * len(one)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_least_a_tenth_of_the_normal_templates_is_in_no_fleet_of_the_pool(seed: int) -> None:
    said = templates(run(seed, 6_000))
    assert len(said - pool_templates()) >= 0.1 * len(said)


def test_the_pool_is_not_among_the_seeds_that_anybody_tries_first() -> None:
    assert min(POOL_SEEDS) > 999


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_has_exactly_the_records_of_its_plan(seed: int) -> None:
    counts = Counter(each.truth.kind for each in run(seed))
    planned = WITH_ANOMALIES.counts(2_000)
    assert {kind: counts[kind] for kind in planned} == planned
    assert sum(counts.values()) == 2_000
    assert set(counts) == {*COVERED, *NOT_COVERED, Kind.NORMAL, Kind.EMPTY}


def test_a_plan_that_leaves_no_room_for_normal_records_is_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        list(generate(1, 5))


@pytest.mark.parametrize("seed", SEEDS)
def test_only_malformed_records_are_rejected_and_all_of_them(seed: int) -> None:
    for each in run(seed):
        kind, outcome = each.truth.kind, decoded(each)
        assert isinstance(outcome, Rejection) == (kind is Kind.MALFORMED), each
        assert isinstance(outcome, Empty) == (kind is Kind.EMPTY), each


@pytest.mark.parametrize("seed", SEEDS)
def test_the_decoded_message_is_what_the_label_says_it_is(seed: int) -> None:
    for each in run(seed):
        event = decoded(each)
        if isinstance(event, Event):
            assert each.truth.message in event.message


def test_no_payload_names_its_label() -> None:
    words = [kind.value for kind in Kind if kind not in (Kind.NORMAL, Kind.EMPTY)]
    for each in run(4):
        text = (each.value or b"").decode("utf-8", "replace") + (each.key or b"").decode()
        assert not any(word in text or word.replace(" ", "_") in text for word in words)


def test_no_whole_record_ends_with_a_line_end_or_a_blank() -> None:
    whole = [each.value for each in run(6) if each.value and each.truth.kind is not Kind.MALFORMED]
    assert not [value for value in whole if value[-1:].isspace()]


def test_anomalies_come_from_every_service_and_in_both_formats() -> None:
    odd = [each for each in run(7, 6_000) if each.truth.kind in (Kind.NEW_MESSAGE, Kind.ODD_TOKEN)]
    as_json = [each for each in odd if (each.value or b"").startswith(b"{")]
    assert 0.2 < len(as_json) / len(odd) < 0.8


def test_lengths_of_anomalies_lie_among_those_of_normal_messages() -> None:
    records = run(8, 6_000)
    normal = [len(each.truth.message) for each in records if each.truth.kind is Kind.NORMAL]
    for kind in (Kind.ODD_ORDER, Kind.ODD_TOKEN, Kind.RARE_LEVEL):
        odd = [len(each.truth.message) for each in records if each.truth.kind is kind]
        assert min(normal) <= min(odd)
        assert max(odd) <= max(normal)


def test_levels_that_are_never_used_are_never_used_by_normal_records() -> None:
    for each in run(9, 6_000):
        service = each.truth.template.split(" ")[0]
        if each.truth.kind is Kind.NORMAL and service in LEVELS_NEVER_USED:
            assert each.truth.level not in LEVELS_NEVER_USED[service]


def test_an_odd_order_has_the_words_of_its_template_in_another_order() -> None:
    fleet = build_fleet(3)
    texts = {t.name: t.text for t in fleet.templates()}
    for each in run(3):
        if each.truth.kind is Kind.ODD_ORDER:
            fixed = [word for word in texts[each.truth.template].split(" ") if "{" not in word]
            said = each.truth.message.split(" ")
            assert not Counter(fixed) - Counter(said)
            assert [word for word in said if word in fixed] != fixed or "{" in texts[each.truth.template]


def test_new_messages_of_a_run_differ_from_each_other_and_from_everything_normal() -> None:
    drawn = incidents(build_fleet(11), seeded("test"), 40)
    assert len({template.text for template in drawn}) == 40
    assert not {template.name for template in drawn} & pool_templates()


def test_a_stack_trace_is_one_record_of_several_lines() -> None:
    traces = [e for e in run(12, 6_000) if "\n" in e.truth.message and e.truth.kind is Kind.NORMAL]
    assert traces
    assert all(isinstance(event := decoded(e), Event) and event.message.count("\n") >= 3 for e in traces)


def test_half_way_the_fleet_begins_to_say_things_in_other_words() -> None:
    records = run(13, 6_000)
    before, after = templates(records[:2_000]), templates(records[4_000:])
    assert len(after - before) > 0.05 * len(after)
    assert len(before - after) > 0.05 * len(before)


def test_a_pool_run_is_normal_from_end_to_end() -> None:
    assert {each.truth.kind for each in generate(1_000, 500, ONLY_NORMAL)} == {Kind.NORMAL}


def test_records_of_a_burst_repeat_one_message_close_together() -> None:
    at = [i for i, each in enumerate(run(14)) if each.truth.kind is Kind.BURST]
    assert at[-1] - at[0] < 4 * len(at)


def test_services_interleave() -> None:
    services = [each.truth.template.split(" ")[0] for each in islice(generate(15, 2_000), 200)]
    assert len(set(services)) >= 5
    assert max(Counter(services).values()) < 150


def test_every_slot_of_the_words_files_can_be_filled() -> None:
    lists = word_lists()
    shapes = [*normal_shapes(), *incident_shapes()]
    unknown = {slot for shape in shapes for slot in slots_of(shape.text)} - GENERATED - lists.keys()
    assert not unknown


def test_no_wording_is_left_open_once_a_fleet_has_settled() -> None:
    open_choice = re.compile(r"\([^()]*\|[^()]*\)")
    assert not [t for t in build_fleet(16).templates() if open_choice.search(t.text)]


def test_json_services_write_json_and_the_others_text() -> None:
    for each in run(17):
        service = each.truth.template.split(" ")[0]
        if each.truth.kind is Kind.NORMAL:
            assert (each.value or b"").startswith(b"{") == (service in JSON_SERVICES)
