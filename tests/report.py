"""What tests saw, for the end of the run: also of those in processes of their own, beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

import pytest

LINES: list[str] = []
"""About runs on Apache Kafka."""
COUNTS: Counter[str] = Counter()
"""What was checked of the compose file; each kind by the tests of one file, the fixtures by everyone."""

_KEY = "report"


class SideBySide:
    """Brings the report of each process to the one that prints it (pytest-xdist)."""

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = [LINES, dict(COUNTS)]

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        """What a test printed or logged may hold lone surrogates, which do not travel."""
        return _travels((yield))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        lines, counts = getattr(node, "workeroutput", {}).get(_KEY, ([], {}))
        LINES.extend(line for line in lines if line not in LINES)
        for what, count in counts.items():
            COUNTS[what] = max(COUNTS[what], count)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        _section(terminalreporter, "runs on Apache Kafka", LINES)
        _section(
            terminalreporter, "compose file", [f"{count:4} {what}" for what, count in sorted(COUNTS.items())]
        )


def _travels(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode(errors="backslashreplace").decode()
    if isinstance(data, dict):
        return {_travels(key): _travels(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(map(_travels, data))
    return data


def _section(terminal: pytest.TerminalReporter, title: str, lines: Sequence[str]) -> None:
    if lines:
        terminal.section(title)
    for line in lines:
        terminal.write_line(line)
