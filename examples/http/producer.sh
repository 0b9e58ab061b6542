#!/bin/sh
# Stores a job over HTTP and asks how it is. Needs curl alone.
#
#   STINT_URL=http://127.0.0.1:7766 STINT_TOKEN=stint_… examples/http/producer.sh ana@example.com
#
# The key makes it safe to send again: whatever broke on the way, the mail is stored once.
set -eu

to=${1:?who gets the mail}
key=${2:-$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)}

location=$(
  curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused \
    --request POST "$STINT_URL/v1/jobs" \
    --header "Authorization: Bearer $STINT_TOKEN" \
    --header 'Content-Type: application/json' \
    --header "Idempotency-Key: $key" \
    --data "{\"kind\": \"mail.send\", \"input\": {\"to\": \"$to\"}}" \
    --output /dev/null --write-out '%header{location}'
)
echo "$location"
