"""Everything that speaks to Kafka; the only package, with the demo, that imports its client."""
