"""What `consumer check` says of Redis."""

from __future__ import annotations

from pathlib import Path

from consumer.checks import Findings, check_all
from consumer.loading import load
from tests.redis.servers import black_hole, valkey

_NO_BROKER = {"kafka.bootstrap_servers": "127.0.0.1:1"}


def found(**redis: str) -> Findings:
    flags = {f"redis.{key}": value for key, value in redis.items()}
    return check_all(load(_NO_BROKER | flags, {}), timeout=0.1)


def about_redis(lines: tuple[str, ...]) -> list[str]:
    return [line for line in lines if line.startswith("redis")]


def test_one_that_answers_is_noted() -> None:
    with valkey() as server:
        findings = found(url=f"redis://127.0.0.1:{server.port}/0", timeout="5", connect_timeout="5")
    assert about_redis(findings.notes) == ["redis: answers"]
    assert not about_redis(findings.warnings)


def test_one_that_does_not_answer_is_a_warning_with_the_reason_since_the_service_works_without_it() -> None:
    with black_hole() as port:
        url = f"redis://127.0.0.1:{port}"
        silent = found(url=url)
    gone = found(url=url)
    for findings, why in ((silent, "Timeout"), (gone, "refused")):
        (line,) = about_redis(findings.warnings)
        assert line.startswith(f"redis.url = '{url}' (")
        assert why in line
        assert not about_redis(findings.problems)


def test_a_wrong_password_is_told_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("canary-in-the-mine")
    with valkey() as server:
        url = f"redis://127.0.0.1:{server.port}"
        findings = found(
            url=url,
            username="nobody",
            password_file=str(tmp_path / "password"),
            timeout="5",
            connect_timeout="5",
        )
    (line,) = about_redis(findings.warnings)
    assert "AuthenticationError" in line
    assert "canary" not in line


def test_nothing_is_said_while_it_is_not_used_and_a_refused_setting_comes_first() -> None:
    assert not about_redis(found().notes + found().warnings)
    findings = found(url="http://cache")
    assert about_redis(findings.notes) == ["redis: not checked before redis.url is mended"]
