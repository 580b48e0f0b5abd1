"""How many threads may compute: the cores we may use, or less under a container's CPU quota.

torch asks only the machine. In a container with a quota of two cores on a machine of 64 it would
start 64 threads that the kernel then throttles together.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath


def available_threads(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """At least 1. Reads this process's affinity and every cgroup (v1 and v2) that it is in."""
    return thread_limit(len(os.sched_getaffinity(0)), cpu_quota(proc, cgroup))


def thread_limit(cores: int, quota: float | None) -> int:
    """Whole threads within `quota` cores: a fraction of a core more would be throttled."""
    return max(1, cores if quota is None else min(cores, int(quota)))


def cpu_quota(proc: Path, cgroup: Path) -> float | None:
    """The smallest quota, in cores, that binds this process; None when nothing does."""
    quotas = [_quota_at(folder) for folder in _folders(_membership(proc), cgroup)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _membership(proc: Path) -> list[tuple[str, PurePosixPath]]:
    """(controllers, path) of each hierarchy; v2 has no controllers."""
    text = _read(proc / "self" / "cgroup") or ""
    fields = [line.split(":", 2) for line in text.splitlines()]
    return [(f[1], PurePosixPath(f[2])) for f in fields if len(f) == 3]


def _folders(membership: list[tuple[str, PurePosixPath]], cgroup: Path) -> list[Path]:
    """Where a quota can stand: our own group and all above it. In a container the mount point itself
    is our group, whatever path /proc shows."""
    folders: list[Path] = [cgroup, cgroup / "cpu", cgroup / "cpu,cpuacct"]
    for controllers, path in membership:
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = cgroup / controllers if controllers else cgroup
        inside = [p for p in (path, *path.parents) if ".." not in p.parts]
        folders += [mount / p.relative_to("/") for p in inside if p.is_absolute()]
    return folders


def _quota_at(folder: Path) -> float | None:
    v2 = (_read(folder / "cpu.max") or "").split()
    v1 = [(_read(folder / f"cpu.cfs_{name}_us") or "").strip() for name in ("quota", "period")]
    return _cores(v2) or _cores(v1)


def _cores(pair: list[str]) -> float | None:
    """["200000", "100000"] is 2.0; "max" and "-1" are no limit."""
    if len(pair) != 2 or not all(part.isdigit() for part in pair) or int(pair[1]) == 0:
        return None
    return int(pair[0]) / int(pair[1]) or None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
