# Speed beside what it is made of. docs/benchmarks.md explains the table and keeps the last one.

.PHONY: bench
bench: $(STAMP) kafka-jars ## measure against bare client, engine and naive loop (under 10 minutes)
	$(BIN)/python -m benchmarks --out build

.PHONY: bench-forward
bench-forward: $(STAMP) ## the engine beside a plain forward of the same model: time, shared tokens, padding
	$(BIN)/python -m benchmarks.forward
