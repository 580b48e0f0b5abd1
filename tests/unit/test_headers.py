"""Headers under a limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from consumer.headers import fit, header_size, headers_size
from consumer.records import Headers

_HEADERS: st.SearchStrategy[Headers] = st.lists(
    st.tuples(
        st.sampled_from(["traceparent", "tracestate", "is_anomaly", "a", ""]) | st.text(max_size=5),
        st.none() | st.binary(max_size=40),
    ),
    max_size=8,
).map(tuple)
TRACE = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")


def test_what_fits_comes_back_as_it_is() -> None:
    headers: Headers = (("a", b"1"), ("a", None), ("", b""))
    assert fit(headers, headers_size(headers)) == headers


def test_a_reserved_name_never_passes_and_similar_ones_do() -> None:
    headers: Headers = (("is_anomaly", b"true"), ("Is_Anomaly", b"true"), ("is_anomaly", None))
    assert fit(headers, 1000, {"is_anomaly"}) == (("Is_Anomaly", b"true"),)


def test_the_trace_is_kept_before_all_else_and_stays_in_its_place() -> None:
    headers: Headers = (("a", b"x" * 50), TRACE, ("b", b"1"))
    assert fit(headers, header_size(*TRACE) + header_size("b", b"1")) == (TRACE, ("b", b"1"))


def test_one_that_is_too_large_does_not_keep_out_smaller_ones() -> None:
    assert fit((("large", b"x" * 1000), ("small", b"1")), 100) == (("small", b"1"),)


def test_size_counts_bytes_of_names_and_what_the_wire_adds() -> None:
    assert header_size("ü", None) == 2 + 10
    assert header_size("a", b"123") == 4 + 10


@given(_HEADERS, st.integers(0, 200))
def test_whole_headers_in_order_within_the_limit(headers: Headers, limit: int) -> None:
    kept = fit(headers, limit, {"is_anomaly"})
    assert headers_size(kept) <= limit
    rest = iter(headers)
    assert all(header in rest for header in kept)
    assert all(name != "is_anomaly" for name, _ in kept)
