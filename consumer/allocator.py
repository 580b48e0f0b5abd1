"""glibc told to keep the pages that every batch needs again.

By default it returns freed buffers of a few megabytes to the kernel, which then has to fault every page in
again for the next batch; on a CPU that costs a scoring loop up to two fifths of its speed.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

_MIB = 1 << 20


class _Option(NamedTuple):
    """A parameter of mallopt(3): its number in malloc.h, the variable and the tunable that set it from
    outside, and the values to try, the first that glibc takes counts."""

    parameter: int
    variable: str
    tunable: str
    values: tuple[int, ...]


# mallopt takes an int. Some versions refuse a threshold above 32 MiB, the largest that they would choose
# by themselves.
_OPTIONS = (
    _Option(-3, "MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold", (1024 * _MIB, 32 * _MIB)),
    _Option(-1, "MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold", (2**31 - 1,)),
    _Option(-2, "MALLOC_TOP_PAD_", "glibc.malloc.top_pad", (64 * _MIB,)),
)


class Allocator(NamedTuple):
    """What came of it, for people: `str()` is one line. Pairs are (variable, value)."""

    library: str  # `glibc 2.36`; empty where it is another one, which is left alone
    kept: tuple[tuple[str, int], ...] = ()  # set by us
    given: tuple[str, ...] = ()  # set from outside, which counts
    refused: tuple[str, ...] = ()  # glibc takes none of our values

    def __str__(self) -> str:
        if not self.library:
            return "not glibc, left as it is"
        notes = [f"{name.strip('_').lower()}={value // _MIB} MiB" for name, value in self.kept]
        notes += [f"{name} from the environment" for name in self.given]
        notes += [f"{name} refused" for name in self.refused]
        return f"{self.library}: {', '.join(notes)}"


def keep_pages(environ: Mapping[str, str]) -> Allocator:
    """Set up this process's allocator; a parameter that the environment sets is left alone.

    Memory that was used once stays with the process, so its size is that of its busiest moment. Does
    nothing where the C library is another one. May be called again.
    """
    library = c_library()
    if not library.startswith("glibc"):
        return Allocator("")
    mallopt = ctypes.CDLL(None).mallopt
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    return configure(library, environ, lambda parameter, value: bool(mallopt(parameter, value)))


def configure(library: str, environ: Mapping[str, str], mallopt: Callable[[int, int], bool]) -> Allocator:
    """The same with a `mallopt` of one's own, which returns whether it took the value."""
    tunables = {setting.partition("=")[0] for setting in environ.get("GLIBC_TUNABLES", "").split(":")}
    kept: list[tuple[str, int]] = []
    given: list[str] = []
    refused: list[str] = []
    for option in _OPTIONS:
        if option.variable in environ or option.tunable in tunables:
            given.append(option.variable)
            continue
        value = next((v for v in option.values if mallopt(option.parameter, v)), None)
        if value is None:
            refused.append(option.variable)
        else:
            kept.append((option.variable, value))
    return Allocator(library, tuple(kept), tuple(given), tuple(refused))


def c_library() -> str:
    """`glibc 2.36`, or nothing where the C library has no name to give."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):  # not POSIX, or a C library without this name
        return ""
