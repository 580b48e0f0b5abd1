"""Every setting, in one frozen tree. Nobody else reads the environment."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

_Seconds = Annotated[float, Meta(gt=0)]
_Short = Annotated[float, Meta(gt=0, le=5)]
_Count = Annotated[int, Meta(ge=1)]
_Ratio = Annotated[float, Meta(gt=0, le=1)]
_Text = Annotated[str, Meta(min_length=1)]
_Topic = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,249}\Z")]


def _d(description: str) -> Meta:
    return Meta(description=description)


def _secret(description: str) -> Meta:
    """A value that is read from a file only and masked wherever settings are shown."""
    return Meta(description=description, extra={"secret": True})


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table of the settings file; its docstring and descriptions become docs/configuration.md."""


class Kafka(Section, frozen=True):
    """How to reach the brokers."""

    bootstrap_servers: Annotated[_Text, _d("Brokers to start from: host:port, comma-separated.")] = (
        "localhost:9092"
    )
    group_id: Annotated[_Text, _d("Consumer group; every replica of one deployment has the same.")] = (
        "anomaly-consumer"
    )
    client_id: Annotated[_Text, _d("Name in broker logs and quotas.")] = "anomaly-consumer"
    group_instance_id: Annotated[
        str | None, _d("Static membership: a name that is unique per replica and survives its restart.")
    ] = None
    assignor: Annotated[
        Literal["cooperative-sticky", "range", "consumer"],
        _d("How partitions are shared; `consumer` is the broker-side protocol of KIP-848."),
    ] = "cooperative-sticky"
    security_protocol: Annotated[
        Literal["plaintext", "ssl", "sasl_ssl", "sasl_plaintext"],
        _d("`sasl_plaintext` also needs `kafka.allow_plaintext_credentials`."),
    ] = "plaintext"
    allow_plaintext_credentials: Annotated[bool, _d("Send credentials unencrypted; for a laptop only.")] = (
        False
    )
    sasl_mechanism: Annotated[
        Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER"] | None, _d("SASL mechanism.")
    ] = None
    sasl_username: Annotated[str | None, _d("SASL user.")] = None
    sasl_password: Annotated[str | None, _secret("SASL password.")] = None
    oauth_token_url: Annotated[str | None, _d("OAUTHBEARER: token endpoint (https).")] = None
    oauth_ca_location: Annotated[
        str | None,
        _d("OAUTHBEARER: PEM file of the authorities to trust for the token endpoint; unset: the system's."),
    ] = None
    oauth_client_id: Annotated[str | None, _d("OAUTHBEARER: client id.")] = None
    oauth_client_secret: Annotated[str | None, _secret("OAUTHBEARER: client secret.")] = None
    oauth_scope: Annotated[str | None, _d("OAUTHBEARER: scope that is asked for.")] = None
    ssl_ca_location: Annotated[
        str | None, _d("PEM file of the certificate authorities to trust; needed with TLS.")
    ] = None
    ssl_certificate_location: Annotated[str | None, _d("PEM file of the client certificate (mTLS).")] = None
    ssl_key_location: Annotated[str | None, _d("PEM file of the client key (mTLS).")] = None
    ssl_key_password: Annotated[str | None, _secret("Password of the client key.")] = None
    max_poll_interval: Annotated[
        float,
        Meta(
            ge=10,
            le=86_400,
            description="Seconds without a poll after which the group gives our partitions away.",
        ),
    ] = 300.0
    session_timeout: Annotated[
        _Seconds, _d("Seconds without a heartbeat after which we count as dead (not with `consumer`).")
    ] = 45.0
    consumer: Annotated[dict[str, str], _d("librdkafka consumer keys, passed through as they are.")] = {}
    producer: Annotated[dict[str, str], _d("librdkafka producer keys, passed through as they are.")] = {}


class Input(Section, frozen=True):
    """What is read, and what of it is accepted."""

    topic: Annotated[_Topic, _d("Topic to read.")] = "events"
    format: Annotated[
        Literal["auto", "json", "text"],
        _d("`auto`: a value that starts with `{` is JSON or rejected; all else is text."),
    ] = "auto"
    start: Annotated[
        Literal["earliest", "latest"], _d("Where a partition begins for which the group has no offset.")
    ] = "earliest"
    max_bytes: Annotated[_Count, _d("Bytes of a value; beyond, the record is a dead letter.")] = 1_048_576
    max_depth: Annotated[
        Annotated[int, Meta(ge=1, le=200)], _d("Nesting of a JSON event; beyond, a dead letter.")
    ] = 32
    max_fields: Annotated[_Count, _d("Fields of a JSON event in all; beyond, a dead letter.")] = 1_000
    max_text_chars: Annotated[_Count, _d("Characters of a text that are scored.")] = 16_384
    long_text: Annotated[
        Literal["truncate", "reject"],
        _d("A longer text: score its head and tail and say `truncated`, or make it a dead letter."),
    ] = "truncate"


class Results(Section, frozen=True):
    """What is published."""

    topic: Annotated[_Topic, _d("Topic of the results.")] = "anomaly-scores"
    include: Annotated[Literal["message", "none", "event"], _d("What of the input a result repeats.")] = (
        "message"
    )
    max_message_chars: Annotated[_Count, _d("Characters of the message that a result repeats.")] = 2_000
    explain_from: Annotated[
        Annotated[float, Meta(ge=0)], _d("Score from which a result names its most surprising tokens.")
    ] = 2.0
    id_prefix: Annotated[
        Annotated[str, Meta(max_length=200)],
        _d("Put before every result id; change it when the input topic was deleted and recreated."),
    ] = ""
    max_bytes: Annotated[
        Annotated[int, Meta(ge=16_384, le=100_000_000)],
        _d("Bytes of one produced record; keep it below the topics' max.message.bytes."),
    ] = 1_000_000
    max_header_bytes: Annotated[_Count, _d("Bytes of input headers that a result repeats.")] = 8_192


class DeadLetter(Section, frozen=True):
    """Where records go that cannot be scored, and how many are too many."""

    topic: Annotated[_Topic, _d("Topic of the dead letters; mandatory.")] = "anomaly-dead-letters"
    max_run: Annotated[
        _Count, _d("Bad records in a row on one partition before the process stops, committing none of them.")
    ] = 1_000
    max_ratio: Annotated[
        _Ratio, _d("Share of bad records among the last `dead_letter.ratio_window` of a partition, likewise.")
    ] = 0.5
    ratio_window: Annotated[_Count, _d("Records over which `dead_letter.max_ratio` is taken.")] = 5_000


class Batch(Section, frozen=True):
    """When a micro-batch closes: at the first of these."""

    count: Annotated[_Count, _d("Records in a micro-batch.")] = 1_000
    byte_size: Annotated[
        _Count, _d("Bytes in a micro-batch: values, keys and headers, 200 more for each header.")
    ] = 4_194_304
    max_wait: Annotated[_Seconds, _d("Age in seconds of its oldest record.")] = 0.25
    idle_wait: Annotated[_Seconds, _d("The same while the device has nothing to do.")] = 0.01


class PipelineSection(Section, frozen=True):
    """How much is under way at once."""

    depth: Annotated[Annotated[int, Meta(ge=1, le=64)], _d("Micro-batches between taken and durable.")] = 3


class Commit(Section, frozen=True):
    """When offsets are committed."""

    interval: Annotated[_Seconds, _d("Seconds between asynchronous commits.")] = 1.0
    max_uncommitted: Annotated[
        _Count, _d("Durable but uncommitted records beyond which nothing new is launched.")
    ] = 10_000


class Processing(Section, frozen=True):
    """What is promised to subscribers; docs/delivery.md."""

    guarantee: Annotated[
        Literal["at-least-once", "exactly-once"],
        _d(
            "`exactly-once`: results, dead letters and offsets in transactions, for subscribers that read "
            "committed records only."
        ),
    ] = "at-least-once"


class Transaction(Section, frozen=True):
    """How long transactions are; with exactly-once only."""

    max_time: Annotated[
        _Seconds, _d("Seconds from a transaction's first result to its commit: micro-batches share it.")
    ] = 0.1
    max_records: Annotated[_Count, _d("Records after which it is committed earlier.")] = 10_000
    max_bytes: Annotated[
        _Count, _d("Bytes of records, counted as in `batch.byte_size`, after which it is committed earlier.")
    ] = 33_554_432
    timeout: Annotated[
        float,
        Meta(
            ge=1,
            le=900,
            description="Seconds after which the brokers abort it. Until then the transaction of a replica "
            "that died hides everybody's later results.",
        ),
    ] = 15.0


class Delivery(Section, frozen=True):
    """What happens while the brokers do not answer."""

    timeout: Annotated[
        _Seconds,
        _d("Seconds after which an unacknowledged result counts as failed and its batch is sent again."),
    ] = 60.0
    give_up_after: Annotated[
        _Seconds | None, _d("Seconds of failing to publish after which the process exits; unset: never.")
    ] = None
    revoke_budget: Annotated[
        _Seconds, _d("Seconds that finishing work may take when a partition is taken from us.")
    ] = 30.0


class Shutdown(Section, frozen=True):
    """How the process stops."""

    drain_timeout: Annotated[
        _Seconds,
        _d("Seconds from the first signal to a forced exit; keep the orchestrator's grace above it."),
    ] = 25.0


class Scoring(Section, frozen=True):
    """What scores, and how strictly."""

    model: Annotated[
        str | None, _d("Model directory written by `consumer fit`, or `demo` for the bundled demo model.")
    ] = None
    factory: Annotated[
        str | None,
        _d("Your own scorer, `package.module:function`; gets these settings. docs/own-model.md."),
    ] = None
    false_alarm_rate: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="Share of normal records that may be called anomalous; sets the threshold.",
        ),
    ] = 0.01
    device: Annotated[Literal["auto", "cpu", "cuda"], _d("`auto`: CUDA when present.")] = "auto"
    max_padded_tokens: Annotated[
        Annotated[int, Meta(ge=64)], _d("Rows times the longest row of one device batch.")
    ] = 2_048
    threads: Annotated[
        Annotated[int, Meta(ge=1)] | None, _d("CPU threads; unset: the cores, or the container's CPU quota.")
    ] = None
    cache_size: Annotated[Annotated[int, Meta(ge=0)], _d("Distinct texts whose score is remembered.")] = (
        100_000
    )
    stall_after: Annotated[
        _Seconds, _d("Seconds in which the device may finish nothing before the process exits.")
    ] = 120.0
    max_failures: Annotated[
        _Count, _d("Poison records in a row after which the scorer counts as broken and the process exits.")
    ] = 20


class RedisSection(Section, frozen=True):
    """What replicas share in Redis or Valkey: scores, and the marks of `[dedupe]`; docs/redis.md."""

    url: Annotated[
        str | None,
        _d("`redis://host:port/db`, `rediss://` (TLS) or `unix:///path`, no password in it; unset: off."),
    ] = None
    username: Annotated[str | None, _d("ACL user; unset: the default user.")] = None
    password: Annotated[str | None, _secret("Password of the user.")] = None
    ssl_ca_location: Annotated[
        str | None, _d("PEM file of the authorities to trust with `rediss://`; unset: the system's.")
    ] = None
    ssl_certificate_location: Annotated[str | None, _d("PEM file of the client certificate (mTLS).")] = None
    ssl_key_location: Annotated[str | None, _d("PEM file of the client key (mTLS).")] = None
    budget: Annotated[_Short, _d("Seconds that one micro-batch waits for scores at most.")] = 0.1
    timeout: Annotated[_Short, _d("Seconds until an answer, after which the connection is given up.")] = 0.2
    connect_timeout: Annotated[_Short, _d("Seconds until a connection.")] = 0.2
    ttl: Annotated[_Count, _d("Seconds that a score is kept.")] = 604_800
    key_prefix: Annotated[
        Annotated[str, Meta(max_length=200)], _d("Put before every key; what an ACL can be limited to.")
    ] = "anomaly-consumer:"
    breaker_failures: Annotated[_Count, _d("Failures in a row after which it is bypassed.")] = 3
    breaker_cool_down: Annotated[_Seconds, _d("Seconds from then, and between trials, to a trial.")] = 5.0


class Dedupe(Section, frozen=True):
    """Events that come again under their id: published as `duplicate`, not scored again; docs/redis.md."""

    enabled: Annotated[bool, _d("Look up the ids of events; needs `redis.url`.")] = False
    ttl: Annotated[
        _Count, _d("Seconds that an id is remembered; no longer than the results topic keeps results.")
    ] = 86_400
    budget: Annotated[_Short, _d("Seconds that one micro-batch waits for the ids at most.")] = 0.1


class Metrics(Section, frozen=True):
    """The HTTP endpoint: /metrics, /live, /ready."""

    host: Annotated[str, _d("Address to bind; 0.0.0.0 in a container.")] = "127.0.0.1"
    port: Annotated[Annotated[int, Meta(ge=0, le=65535)], _d("Port; 0: no endpoint.")] = 9108


class Health(Section, frozen=True):
    """When we call ourselves dead or not ready."""

    stall_after: Annotated[_Seconds, _d("Seconds without a step of the loop before /live fails.")] = 60.0
    stuck_after: Annotated[
        _Seconds, _d("Seconds without progress on an owned partition that has records before /ready fails.")
    ] = 120.0


class Log(Section, frozen=True):
    """What is written to standard error."""

    format: Annotated[Literal["auto", "console", "json"], _d("`auto`: console on a terminal, else JSON.")] = (
        "auto"
    )
    level: Annotated[Literal["debug", "info", "warning", "error"], _d("Least level that is written.")] = (
        "info"
    )


class Settings(Section, frozen=True):
    """The whole tree."""

    kafka: Kafka = Kafka()
    input: Input = Input()
    output: Results = Results()
    dead_letter: DeadLetter = DeadLetter()
    batch: Batch = Batch()
    pipeline: PipelineSection = PipelineSection()
    commit: Commit = Commit()
    processing: Processing = Processing()
    transaction: Transaction = Transaction()
    delivery: Delivery = Delivery()
    shutdown: Shutdown = Shutdown()
    scoring: Scoring = Scoring()
    redis: RedisSection = RedisSection()
    dedupe: Dedupe = Dedupe()
    metrics: Metrics = Metrics()
    health: Health = Health()
    log: Log = Log()

    @property
    def exactly_once(self) -> bool:
        return self.processing.guarantee == "exactly-once"
