#!/bin/sh
# Turn the password file into an access list, then become the server: start.sh REDIS.CONF
# The default user is off. `consumer` may do what a cache needs, on keys of its own, and nothing dangerous.
set -eu
password=$(cat "$PASSWORD_FILE")
if [ -z "$password" ]; then
  echo "$PASSWORD_FILE is empty: put a password into it" >&2
  exit 1
fi
hash=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
umask 077
{
  echo "user default off sanitize-payload resetchannels -@all"
  echo "user consumer on sanitize-payload #$hash ~anomaly-consumer:* resetchannels -@all +@read +@write +@connection +@transaction -@dangerous"
} > "$ACL_FILE"
exec valkey-server "$1" --aclfile "$ACL_FILE" --dir /tmp
