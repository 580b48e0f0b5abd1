"""docs/configuration.md, written from the tree.

python -m consumer.settings_docs > docs/configuration.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from consumer.settings_keys import KEYS, SECTIONS, Key
from consumer.settings_refused import REFUSED

_HEAD = """\
# Configuration

<!-- Written by `python -m consumer.settings_docs` from consumer/settings.py; a test compares. -->

Every setting has one name, `section.key`, and can be given in three places. The first one wins:

1. **Command line**: `--set section.key=value`, repeatable. The common few have a flag of their own
   (`consumer run --help`).
2. **Environment**: `CONSUMER_<SECTION>_<KEY>`, for example `CONSUMER_DEAD_LETTER_TOPIC`. An empty
   variable unsets a setting that may be unset.
3. **TOML file**: `--config FILE` or `CONSUMER_CONFIG`.

What is given nowhere has its default. Unknown names are errors that name the nearest valid one, and
every problem is reported at once, by `consumer check` as well as at start, with exit code 2. Variables
that Kubernetes injects for a Service named `consumer` (`CONSUMER_SERVICE_HOST`, `CONSUMER_PORT…`) are
ignored. `consumer check --all` shows the settings in force, secrets masked, and where each came from.

```toml
[kafka]
bootstrap_servers = "broker-1:9092,broker-2:9092"
security_protocol = "sasl_ssl"
sasl_mechanism = "SCRAM-SHA-512"
sasl_username = "scorer"
sasl_password_file = "/run/secrets/kafka-password"
ssl_ca_location = "/etc/ssl/certs/ca-certificates.crt"

[kafka.consumer]            # librdkafka's own keys, quoted or not
fetch.min.bytes = 1000

[input]
topic = "logs"

[scoring]
model = "/models/logs"
false_alarm_rate = 0.001
```

Times are seconds, sizes are bytes.

## Secrets

A secret is read from a file, never from a value: its setting ends in `_file` and names the file. One
newline at the end of the file is not part of the secret. A secret given as a value is refused, also in
the free maps below, and no message or dump ever shows one.

## librdkafka's own keys

`kafka.consumer` and `kafka.producer` pass librdkafka's dotted keys to its client. They are merged entry
by entry over the three places:

* TOML: the tables `[kafka.consumer]` and `[kafka.producer]`;
* command line: `--set kafka.consumer.fetch.min.bytes=1000`;
* environment: `CONSUMER_KAFKA_CONSUMER="fetch.min.bytes=1000,client.rack=a"`, or a JSON object where a
  value holds a comma.

The keys at the end of this page are refused, each with its reason.
"""


def render() -> str:
    """The whole page."""
    parts = [_HEAD, *(_section(name, what) for name, what in SECTIONS.items()), _refused()]
    return "\n".join(parts)


def _section(name: str, what: str) -> str:
    rows = (_row(key) for key in KEYS.values() if key.section == name)
    return _table(f"## [{name}]\n\n{what}", "| setting | default | allowed | what it does |", rows)


def _row(key: Key) -> str:
    allowed = "path of a file" if key.secret else key.allowed
    cells = (f"`{key.source}`", _default(key.default), allowed, key.description)
    return f"| {' | '.join(cells)} |"


def _default(value: object) -> str:
    if value in (None, "", {}):
        return "unset" if value is None else "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _refused() -> str:
    rows = (f"| `{name}` | {reason} |" for name, reason in REFUSED.items())
    return _table("## Refused librdkafka keys", "| key | why, or what to use |", rows)


def _table(title: str, header: str, rows: Iterator[str]) -> str:
    rule = "|---" * (header.count("|") - 1) + "|"
    return "\n".join([title, "", header, rule, *rows, ""])


if __name__ == "__main__":
    sys.stdout.write(render())
