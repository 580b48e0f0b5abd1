# Speed beside what it is made of. docs/benchmarks.md explains the table and keeps the last one.

.PHONY: bench
bench: $(STAMP) kafka-jars ## measure against bare client, engine and naive loop (under 10 minutes)
	$(BIN)/python -m benchmarks --out build
