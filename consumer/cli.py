"""The command line. Exit codes: 0 fine, 1 failed while running, 2 wrong settings or input."""

from __future__ import annotations

import errno
import importlib
import os
import platform
from collections.abc import Callable
from typing import Any

import click

from consumer import __version__
from consumer.allocator import keep_pages
from consumer.errors import ConsumerError, Misconfigured

# Each is imported when it is asked for: `consumer version` must not wait for torch.
_COMMANDS = {
    "run": "consumer.cli_run",
    "fit": "consumer.cli_fit",
    "score": "consumer.cli_score",
    "evaluate": "consumer.cli_evaluate",
    "check": "consumer.cli_check",
    "verify": "consumer.cli_verify",
    "demo": "consumer.cli_demo",
}


class _Commands(click.Group):
    """Loads commands late and turns our errors into one line each and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [*_COMMANDS, "version"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        return _with_exit_codes(lambda: super(_Commands, self).invoke(ctx), ctx)


def _with_exit_codes(work: Callable[[], Any], ctx: click.Context) -> Any:
    try:
        return work()
    except Misconfigured as error:
        for problem in error.problems:
            click.echo(problem, err=True)
        ctx.exit(2)
    except ConsumerError as error:
        click.echo(str(error), err=True)
        ctx.exit(1)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # the reader has what it wanted: click ends quietly
        click.echo(
            f"cannot read or write {error.filename or 'a stream'}: {error.strerror or error}", err=True
        )
        ctx.exit(1)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Start here:
  consumer demo                                  see it work, nothing else needed
  consumer fit app.log --out model               learn what normal looks like
  consumer score --model model new.log           score a file
  consumer check --model model                   what would go wrong, and its fix
  consumer run --model model                     score a topic
""",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Score Kafka records for anomalies in micro-batches, and lose nothing."""
    ctx.obj = keep_pages(os.environ)  # before anything large is imported


@cli.command()
def version() -> None:
    """Print the versions of this program and of what it runs on."""
    import confluent_kafka  # noqa: PLC0415 - only this command needs it

    click.echo(
        f"anomaly-consumer {__version__} (Python {platform.python_version()}, "
        f"confluent-kafka {confluent_kafka.version()}, librdkafka {confluent_kafka.libversion()[0]})"
    )
