# Apache Kafka for the tests: its jars, fetched once by Maven into tests/kafka/lib (ignored by git).
# Without Maven or Java the kafka tests skip with a message, and fail where CI is set.

KAFKA_JARS := tests/kafka/lib

.PHONY: kafka-jars
kafka-jars: $(KAFKA_JARS)/.complete ## fetch Apache Kafka's jars for the tests (44 MB; needs Maven and Java 17)

$(KAFKA_JARS)/.complete: tests/kafka/pom.xml
	rm -rf $(KAFKA_JARS)
	mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(abspath $(KAFKA_JARS)) -DincludeScope=runtime
	touch $@
