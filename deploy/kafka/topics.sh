#!/bin/bash
# Make the three topics; those that exist stay as they are. The consumer itself creates nothing.
set -euo pipefail

create() { # NAME, then topic settings
  local name=$1 setting
  local -a settings=()
  shift
  for setting in "$@"; do settings+=(--config "$setting"); done
  kafka-topics.sh --bootstrap-server "$BOOTSTRAP_SERVERS" --create --if-not-exists --topic "$name" \
    --partitions "$PARTITIONS" --replication-factor "$REPLICATION" "${settings[@]}"
}

# A dead letter is the whole input record and headers that say why, so it needs more room. The number of
# partitions is the same everywhere: a keyed result goes to the partition of its input record.
create "$INPUT_TOPIC" max.message.bytes=1048588 retention.ms=604800000
create "$OUTPUT_TOPIC" max.message.bytes=2097152 retention.ms=604800000
create "$DEAD_LETTER_TOPIC" max.message.bytes=2097152 retention.ms=2419200000
