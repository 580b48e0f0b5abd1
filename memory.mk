# What a replica's memory comes to in hard times, beside what its settings allow. docs/deployment.md has both.

.PHONY: memory
memory: $(STAMP) kafka-jars ## resident memory beside the sum of its settings: MINUTES=10 of brokers or Redis away
	$(BIN)/python -m benchmarks.memory $(if $(MINUTES),--minutes $(MINUTES))
