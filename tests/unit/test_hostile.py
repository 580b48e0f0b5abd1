"""The whole corpus of hostile payloads through decoding and encoding."""

from __future__ import annotations

import json

import pytest

from consumer.codec import EventCodec
from consumer.dead_letters import DeadLetterEncoder
from consumer.encode import ResultEncoder
from consumer.errors import BadRecord
from consumer.ports import ModelInfo
from consumer.records import Decoded, Empty, Entry, Event, Output, Reason, Rejection, Score, Verdict
from consumer.settings import Input, Results
from tests.hostile.corpus import corpus
from tests.hostile.payload import SECRET, Hostile

AT = 1_764_512_345_999
CORPUS = corpus()
LEAST = 200
CODECS = {
    (form, keep): EventCodec(Input(format=form), keep_document=keep)
    for form in ("auto", "json", "text")
    for keep in (False, True)
}


def _decode(hostile: Hostile, keep_document: bool = False) -> Decoded:
    return CODECS[hostile.format, keep_document].decode(hostile.record())


def _ids(hostile: Hostile) -> str:
    return hostile.name.replace(" ", "_")


def test_the_corpus_is_large_its_names_are_unique_and_every_outcome_of_a_payload_occurs() -> None:
    assert len(CORPUS) >= LEAST
    assert len({hostile.name for hostile in CORPUS}) == len(CORPUS)
    # a poison record is one that breaks the scorer, and nothing that we know of breaks ours
    assert {str(hostile.outcome) for hostile in CORPUS} == {"scored", "empty", *Reason} - {Reason.POISON}


@pytest.mark.parametrize("hostile", CORPUS, ids=_ids)
def test_each_payload_has_its_promised_outcome(hostile: Hostile) -> None:
    decoded = _decode(hostile)
    if isinstance(decoded, Rejection):
        assert (decoded.reason, hostile.detail in decoded.detail) == (hostile.outcome, True), decoded
    elif isinstance(decoded, Empty):
        assert hostile.outcome == ("empty" if hostile.outcome != Reason.UNPUBLISHABLE else hostile.outcome)
    else:
        assert hostile.outcome in {"scored", Reason.UNPUBLISHABLE}


@pytest.mark.parametrize("hostile", CORPUS, ids=_ids)
def test_keeping_the_document_changes_no_outcome(hostile: Hostile) -> None:
    plain, kept = _decode(hostile), _decode(hostile, keep_document=True)
    assert type(plain) is type(kept)
    if isinstance(plain, Rejection):
        assert plain == kept


@pytest.mark.parametrize("hostile", CORPUS, ids=_ids)
def test_a_rejection_is_one_short_line_that_holds_no_payload(hostile: Hostile) -> None:
    decoded = _decode(hostile)
    if isinstance(decoded, Rejection):
        assert SECRET not in decoded.detail
        assert decoded.detail.isprintable()
        assert 0 < len(decoded.detail) < 200


@pytest.mark.parametrize("include", ["message", "none", "event"])
def test_each_payload_gets_exactly_one_output_record_within_the_limit(include: str) -> None:
    settings = Results(include=include)  # type: ignore[arg-type]
    results = ResultEncoder(settings, "group", ModelInfo("demo", "0"))
    letters = DeadLetterEncoder(settings, "group")
    for offset, hostile in enumerate(CORPUS):
        record = hostile.record(offset)
        decoded = CODECS[hostile.format, include == "event"].decode(record)
        try:
            if isinstance(decoded, Rejection):
                raise BadRecord(decoded.reason, decoded.detail)
            encoded = results.encode(Output(Entry(record, decoded), _verdict(decoded)), AT)
        except BadRecord as error:
            encoded = letters.encode(record, error.rejection, AT)
            assert dict(encoded.headers)["consumer.reason"] == hostile.outcome.encode(), hostile.name
        else:
            assert encoded.value is not None
            written = json.loads(encoded.value)
            assert (written["id"], written["outcome"]) == (f"events|0|{offset}", hostile.outcome)
        assert encoded.size() <= settings.max_bytes, hostile.name


def _verdict(decoded: Event | Empty) -> Verdict:
    return Score(1.0, False, 2.0, {"novelty": 1.0}) if isinstance(decoded, Event) else decoded
