# The demonstration: brokers in the process, two replicas beside it. Nothing else is needed.
FILE ?=

.PHONY: demo
demo: $(STAMP) ## see it work: SEED=7 draws another fleet, FILE=/var/log/syslog takes your own log
	$(BIN)/python -m consumer demo $(if $(FILE),--file "$(FILE)",--seed $(or $(SEED),1))

.PHONY: demo-model
demo-model: $(STAMP) ## fit the model that ships with the demonstration anew
	$(BIN)/python -m consumer.demo.build
