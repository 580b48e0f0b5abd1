"""The options that all commands share: where settings come from. The only reader of the environment."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from consumer.loading import load
from consumer.settings_keys import KEYS

# The common few keys have a flag of their own; `--set` reaches every other one.
FLAGS = {
    "--bootstrap-servers": "kafka.bootstrap_servers",
    "--group-id": "kafka.group_id",
    "--input-topic": "input.topic",
    "--output-topic": "output.topic",
    "--dead-letter-topic": "dead_letter.topic",
    "--model": "scoring.model",
    "--false-alarm-rate": "scoring.false_alarm_rate",
    "--device": "scoring.device",
    "--log-level": "log.level",
}

Command = Callable[..., Any]


def settings_options(*sections: str) -> Callable[[Command], Command]:
    """Give a command the shared options and the parameter `loaded: Loaded`.

    `sections`: only the flags of these sections are offered (all by default); `--config` and `--set`
    always are. Nothing is refused here: the command calls `loaded.require()`, or shows the problems.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_settings(*args: Any, config: Path | None, assignments: Sequence[str], **rest: Any) -> Any:
            given = {key: rest.pop(_parameter(key), None) for key in FLAGS.values()}
            flags = _assigned(assignments) | {key: text for key, text in given.items() if text is not None}
            return command(*args, loaded=load(flags, os.environ, config), **rest)

        return _decorated(with_settings, sections)

    return decorate


def _decorated(command: Command, sections: Sequence[str]) -> Command:
    for flag, name in reversed(FLAGS.items()):
        if not sections or KEYS[name].section in sections:
            command = _flag(flag, name)(command)
    command = click.option(
        "--set",
        "assignments",
        metavar="SECTION.KEY=VALUE",
        multiple=True,
        callback=_check_assignments,
        help="Any setting of docs/configuration.md; repeatable.",
    )(command)
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        envvar="CONSUMER_CONFIG",
        show_envvar=True,
        metavar="FILE",
        help="TOML file with settings. Flags win over the environment, the environment over the file.",
    )(command)


def _flag(flag: str, name: str) -> Callable[[Command], Command]:
    key = KEYS[name]
    default = "" if key.default is None else f" [default: {key.default}]"
    text = f"{key.description}{default}".replace("`", "")
    return click.option(flag, _parameter(name), metavar=flag.rpartition("-")[2].upper(), help=text)


def _parameter(name: str) -> str:
    return f"setting_{name.replace('.', '_')}"


def _check_assignments(_: click.Context, __: click.Parameter, values: Sequence[str]) -> Sequence[str]:
    for value in values:
        if "=" not in value:
            # The text is not repeated: it may be a secret that was put in the wrong place.
            raise click.BadParameter("write SECTION.KEY=VALUE, for example --set batch.count=500")
    return values


def _assigned(assignments: Sequence[str]) -> dict[str, str]:
    pairs = (assignment.partition("=") for assignment in assignments)
    return {name.strip(): value for name, _, value in pairs}
