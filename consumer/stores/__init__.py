"""What replicas share beside Kafka. The only place that imports redis."""
