# Input that means harm: a fixed corpus through the real service, and a fuzzer over what reads bytes of others.
FUZZER := build/tools/fuzzer
ATHERIS := atheris==3.0.0
SECONDS ?= 60

.PHONY: hostile
hostile: $(STAMP) kafka-jars ## hostile payloads through the service: how many stood alone, at what cost
	$(BIN)/python -m pytest -q tests/unit/test_hostile.py tests/kafka/test_hostile.py

.PHONY: fuzz
fuzz: $(STAMP) $(FUZZER)/.complete ## coverage-guided, SECONDS each: codec, normaliser, settings, dead letters
	for target in codec normalizer settings dead_letters; do \
		PYTHONPATH=$(FUZZER) $(BIN)/python -m tests.fuzz.run $$target $(SECONDS); \
	done

$(FUZZER)/.complete: hostile.mk
	rm -rf $(@D)
	$(BIN)/pip install --quiet --no-deps --target $(@D) $(ATHERIS)
	@touch $@
