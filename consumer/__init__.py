"""A Kafka consumer group that scores records for anomalies and loses nothing."""

__version__ = "0.1.0"
