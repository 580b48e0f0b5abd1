#!/bin/bash
# Format the data directory the first time, then become the broker: start.sh SERVER.PROPERTIES
set -euo pipefail
config=$1
data=$(sed -n 's/^log\.dirs=//p' "$config")
if [ ! -f "$data/meta.properties" ]; then
  kafka-storage.sh format --cluster-id "$(kafka-storage.sh random-uuid)" --config "$config"
fi
exec kafka-server-start.sh "$config"
