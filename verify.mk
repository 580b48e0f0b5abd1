# What `consumer verify` finds among a million records, and what it costs. docs/verify.md explains the figures.

.PHONY: show-verify
show-verify: $(STAMP) kafka-jars ## audit 1,000,000 records with planted faults: each found, time, peak memory
	$(BIN)/python -m tests.kafka.show_verify
