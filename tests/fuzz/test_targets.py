"""The targets hold for what was found once, for the hostile corpus, and for what Hypothesis draws."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.findings import FINDINGS
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS

_JSONISH = st.lists(
    st.sampled_from(
        [
            b'{"message":"',
            b'"}',
            b'","x":',
            b"[",
            b"]",
            b"{",
            b"}",
            b'"',
            b"\\",
            b"\\ud8",
            b"00",
            b"1e9",
            b":",
        ]
    )
    | st.binary(max_size=4),
    max_size=30,
).map(b"".join)
_TOMLISH = st.lists(
    st.sampled_from(
        [
            b"[",
            b"]",
            b"kafka",
            b".",
            b"consumer",
            b" = ",
            b"\n",
            b'"',
            b"'",
            b"{",
            b"}",
            b"input",
            b"1",
            b"\\u001b",
        ]
    )
    | st.binary(max_size=4),
    max_size=30,
).map(lambda parts: b"\x00\x00" + b"".join(parts))


_UNTIMED = settings(deadline=None)  # a busy machine is no fault of a target


@pytest.mark.parametrize("target", TARGETS)
def test_what_broke_it_once_breaks_it_no_more(target: str) -> None:
    for data in FINDINGS[target]:
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_it_holds_for_every_seed(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)


@_UNTIMED
@given(_JSONISH.map(lambda value: b"\x00" + value) | st.binary(max_size=200))
def test_any_value_has_the_outcome_that_another_parser_agrees_with(data: bytes) -> None:
    TARGETS["codec"](data)


@_UNTIMED
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode(errors="surrogatepass")))
def test_any_text_is_normalised_to_printable_characters_with_their_places(data: bytes) -> None:
    TARGETS["normalizer"](data)


@_UNTIMED
@given(_TOMLISH | st.binary(max_size=300))
def test_no_file_environment_or_command_line_makes_loading_settings_fail(data: bytes) -> None:
    TARGETS["settings"](data)


@_UNTIMED
@given(st.binary(max_size=400))
def test_any_bad_record_becomes_a_dead_letter_that_fits_and_tells_the_truth(data: bytes) -> None:
    TARGETS["dead_letters"](data)
