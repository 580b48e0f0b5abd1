"""The whole corpus."""

from __future__ import annotations

import functools

from tests.hostile import binaries, documents, encodings, fields, texts, transport
from tests.hostile.payload import Hostile

_GROUPS = (
    documents.nothing,
    documents.cut_short,
    documents.bad_grammar,
    documents.not_objects,
    documents.too_complex,
    documents.complex_enough,
    encodings.not_utf8,
    encodings.lone_surrogates,
    encodings.marks,
    encodings.other_encodings,
    fields.no_numbers,
    fields.bad_numbers,
    fields.good_numbers,
    fields.bad_fields,
    fields.bad_dates,
    fields.good_dates,
    fields.good_fields,
    texts.terminal,
    texts.direction,
    texts.invisible,
    texts.expanding,
    texts.log_lines,
    texts.special_tokens,
    texts.slow_to_match,
    texts.sizes,
    texts.looks_like_json,
    binaries.bombs,
    binaries.serialised,
    binaries.schema_registry,
    transport.oversize,
    transport.keys,
    transport.unreadable_headers,
    transport.headers,
    transport.timestamps,
)


@functools.cache
def corpus() -> tuple[Hostile, ...]:
    """Every payload, always in the same order."""
    return tuple(hostile for group in _GROUPS for hostile in group())
