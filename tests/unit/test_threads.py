"""Threads come from the cores and from the container's quota, in cgroup v1 and v2."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumer.scoring.threads import available_threads, cpu_quota, thread_limit


def _files(root: Path, files: dict[str, str]) -> tuple[Path, Path]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root / "proc", root / "cgroup"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "200000 100000\n"}, 2.0),
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/a/b\n", "cgroup/a/cpu.max": "150000 100000\n"}, 1.5),
        ({"proc/self/cgroup": "0::/a/b\n", "cgroup/a/b/cpu.max": "300000 100000\n",
          "cgroup/a/cpu.max": "100000 100000\n"}, 1.0),
        ({"proc/self/cgroup": "3:cpu,cpuacct:/docker/x\n",
          "cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "50000\n",
          "cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"proc/self/cgroup": "3:cpu:/\n", "cgroup/cpu/cpu.cfs_quota_us": "-1\n",
          "cgroup/cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"proc/self/cgroup": "4:memory:/m\n3:cpuset:/\n"}, None),
        ({}, None),
        ({"proc/self/cgroup": "0::/../other\n", "cgroup/cpu.max": "garbage\n"}, None),
    ],
)  # fmt: skip
def test_the_smallest_quota_that_binds_the_process_is_found(
    tmp_path: Path, files: dict[str, str], quota: float | None
) -> None:
    assert cpu_quota(*_files(tmp_path, files)) == quota


@pytest.mark.parametrize(
    ("cores", "quota", "threads"), [(8, None, 8), (8, 2.0, 2), (2, 16.0, 2), (8, 1.9, 1), (8, 0.1, 1)]
)
def test_threads_fit_into_cores_and_quota_and_are_never_none(
    cores: int, quota: float | None, threads: int
) -> None:
    assert thread_limit(cores, quota) == threads


def test_a_quota_of_one_core_gives_one_thread_on_any_machine(tmp_path: Path) -> None:
    proc, cgroup = _files(tmp_path, {"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "100000 100000\n"})
    assert available_threads(proc, cgroup) == 1
