# What docs/detection.md reports, again. The data are not ours to give away: docs/detection.md says where
# to get them. CONSUMER_TEST_DATA names the folder that holds loghub_2k/ and httpparams/.
CONSUMER_TEST_DATA ?= ../shared/data
BGL := $(CONSUMER_TEST_DATA)/loghub_2k/BGL_2k.log
HTTP_PARAMS := $(CONSUMER_TEST_DATA)/httpparams/payload_train.csv.gz
FIT_SEEDS ?= 0 1 2

.PHONY: evaluate-bgl
evaluate-bgl: $(STAMP) ## judge scores by the labels of BGL: fit on its first half, once for each of FIT_SEEDS
	@if [ ! -f "$(BGL)" ]; then echo "skipped: no $(BGL); set CONSUMER_TEST_DATA (docs/detection.md)"; exit 0; fi; \
	for seed in $(FIT_SEEDS); do \
		$(BIN)/consumer evaluate --split chronological --label-column 1 --normal-value - \
			--ablate --seed $$seed "$(BGL)"; \
	done

.PHONY: evaluate-http
evaluate-http: $(STAMP) ## the same for HTTP parameter values: fit on a random half of the different ones
	@if [ ! -f "$(HTTP_PARAMS)" ]; then echo "skipped: no $(HTTP_PARAMS); set CONSUMER_TEST_DATA (docs/detection.md)"; exit 0; fi; \
	$(BIN)/python scripts/csv_to_jsonl.py "$(HTTP_PARAMS)" payload label | \
	$(BIN)/consumer evaluate --split random --label-field label --normal-value norm --ablate -
