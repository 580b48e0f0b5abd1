# Apache Kafka for the tests: its jars, fetched once by Maven into tests/kafka/lib (ignored by git).
# Where they cannot be had the kafka tests skip with a message; where CI is set this fails.

KAFKA_JARS := tests/kafka/lib

.PHONY: kafka-jars
kafka-jars: ## fetch Apache Kafka's jars for the tests (44 MB; needs Maven, and Java 17 to run them)
	@if [ -n "$${KAFKA_BOOTSTRAP_SERVERS:-}" ] || [ $(KAFKA_JARS)/.complete -nt tests/kafka/pom.xml ]; then exit 0; fi; \
	rm -rf $(KAFKA_JARS); \
	if mvn -q -B -f tests/kafka/pom.xml dependency:copy-dependencies \
		-DoutputDirectory=$(abspath $(KAFKA_JARS)) -DincludeScope=runtime; \
	then touch $(KAFKA_JARS)/.complete; \
	else echo "Apache Kafka's jars could not be fetched: its tests will be skipped."; [ -z "$${CI:-}" ]; fi

.PHONY: membership
membership: $(STAMP) kafka-jars ## three replicas under each assignor and static membership, as a table: lost, duplicates, moves
	$(BIN)/python -m pytest -q tests/kafka/test_membership.py
