"""glibc is told to keep its pages, unless somebody has told it something already."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from consumer.allocator import Allocator, c_library, configure, keep_pages

MIB = 1 << 20
NAMES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")

glibc_only = pytest.mark.skipif(not c_library().startswith("glibc"), reason="another C library")

# Allocates and frees 8 MiB in a loop and prints the pages that were faulted in for it.
_CHURN = """
import os, resource, sys
from consumer.allocator import keep_pages
if sys.argv[1] == "keep":
    keep_pages({})
bytes(bytearray(8 << 20))
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    bytearray(8 << 20)[::4096] = b"x" * 2048
    [bytearray(20 << 20), bytearray(20 << 20)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def taking(limit: int, calls: list[tuple[int, int]]) -> Callable[[int, int], bool]:
    """A mallopt that refuses values above `limit` for the mmap threshold."""

    def mallopt(parameter: int, value: int) -> bool:
        calls.append((parameter, value))
        return parameter != -3 or value <= limit

    return mallopt


def test_all_three_parameters_are_set() -> None:
    calls: list[tuple[int, int]] = []
    done = configure("glibc 2.36", {}, taking(1024 * MIB, calls))
    assert tuple(name for name, _ in done.kept) == NAMES
    assert calls == [(-3, 1024 * MIB), (-1, 2**31 - 1), (-2, 64 * MIB)]


def test_every_value_fits_the_int_that_mallopt_takes() -> None:
    done = configure("glibc 2.36", {}, lambda _, value: -(2**31) <= value < 2**31)
    assert len(done.kept) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_environment_sets_counts(name: str) -> None:
    calls: list[tuple[int, int]] = []
    done = configure("glibc 2.36", {name: "131072"}, taking(1024 * MIB, calls))
    assert done.given == (name,)
    assert len(calls) == 2


def test_a_tunable_counts_like_its_variable() -> None:
    environ = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.top_pad=1048576"}
    assert configure("glibc 2.36", environ, lambda *_: True).given == ("MALLOC_TOP_PAD_",)


def test_the_largest_threshold_that_an_older_library_takes_is_found() -> None:
    done = configure("glibc 2.31", {}, taking(32 * MIB, []))
    assert dict(done.kept)["MALLOC_MMAP_THRESHOLD_"] == 32 * MIB


def test_a_refusal_is_told() -> None:
    done = configure("glibc 2.36", {}, lambda *_: False)
    assert done.refused == NAMES
    assert "MALLOC_TOP_PAD_ refused" in str(done)


def test_the_line_for_people_names_library_values_and_origin() -> None:
    done = configure("glibc 2.36", {"MALLOC_TOP_PAD_": "1"}, lambda *_: True)
    assert str(done) == (
        "glibc 2.36: malloc_mmap_threshold=1024 MiB, malloc_trim_threshold=2047 MiB, "
        "MALLOC_TOP_PAD_ from the environment"
    )


def test_another_library_is_left_alone() -> None:
    assert str(Allocator("")) == "not glibc, left as it is"


@glibc_only
def test_the_library_of_this_process_takes_every_value() -> None:
    done = keep_pages({})
    assert done.library == c_library()
    assert not done.refused


@glibc_only
def test_pages_are_faulted_in_once_instead_of_every_time() -> None:
    default, keeping = (_faults(how) for how in ("default", "keep"))
    assert keeping * 10 < default


def _faults(how: str) -> int:
    """In a process of its own: what is set cannot be unset. Without the variables of an image."""
    command = [sys.executable, "-c", _CHURN, how]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={})
    return int(done.stdout)
