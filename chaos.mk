# Apache Kafka, the group, the wire, Redis and the scorer struck at random, from a seed that repeats a run.
# Each run prints its seed, and a line for each invariant with what it looked at.

GUARANTEE ?= at-least-once
CLASS_ARCHIVE := $(KAFKA_JARS)/classes.jsa

# Brokers start from it in half the time; a JVM that cannot make it does without.
$(CLASS_ARCHIVE): | kafka-jars
	-$(BIN)/python -m tests.kafka.class_archive

.PHONY: chaos
chaos: $(STAMP) kafka-jars $(CLASS_ARCHIVE) ## every class of fault once, half of them under each guarantee: SEED=… MINUTES=5
	$(BIN)/python -m tests.chaos.run $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: chaos-cell
chaos-cell: $(STAMP) kafka-jars $(CLASS_ARCHIVE) ## all faults, 8 minutes, 100,000 records: GUARANTEE=… ASSIGNOR=… SEED=…
	$(BIN)/python -m tests.chaos.run --guarantee $(GUARANTEE) --minutes $(or $(MINUTES),8) --records 110000 \
		$(if $(ASSIGNOR),--assignor $(ASSIGNOR)) $(if $(SEED),--seed $(SEED))
