#!/bin/sh
# Stores a job over HTTP and asks how it is. Needs curl alone.
#
#   STINT_URL=http://127.0.0.1:7766 STINT_TOKEN=stint_… examples/http/producer.sh ana@example.com
#
# Prints the job's address, and the job. The key makes it safe to send again: whatever broke on the way, the mail is
# stored once.
set -eu

to=${1:?who gets the mail}
key=${2:-$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)}

# Sends a request, again where it got no answer or is told to come back. A problem is told as the console says it.
ask() {
  answer=$(
    curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused \
      --header "Authorization: Bearer $STINT_TOKEN" "$@"
  ) || {
    printf '%s\n' "$answer" >&2
    exit 1
  }
  printf '%s\n' "$answer"
}

# A text as JSON has it. Control characters are left as they are: the console refuses them.
quoted() {
  printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"
}

# The body, and in a line of its own the address, which comes without scheme and host.
accepted=$(
  ask --request POST "$STINT_URL/v1/jobs" \
    --header 'Content-Type: application/json' \
    --header "Idempotency-Key: $key" \
    --data "{\"kind\": \"mail.send\", \"input\": {\"to\": $(quoted "$to")}}" \
    --write-out '\n%header{location}'
)
location=$(printf '%s\n' "$accepted" | tail -n 1)
echo "$location"

host=${STINT_URL#*://}
ask "${STINT_URL%%://*}://${host%%/*}$location"
