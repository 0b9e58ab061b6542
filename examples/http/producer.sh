#!/bin/sh
# Stores a job over HTTP and prints its state. Needs only curl.
#
#   STINT_URL=http://127.0.0.1:7766 STINT_TOKEN=stint_… examples/http/producer.sh ana@example.com
#
# Prints the job's address, and the job. The key makes it safe to send the request again: the mail is stored once, even
# if a connection breaks.
set -eu

to=${1:?who gets the mail}
key=${2:-$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)}

# Sends a request, and repeats it where it gets no answer or a Retry-After. Prints a problem as the console returns it.
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

# Quotes a text as JSON. Control characters stay: the console refuses them.
quoted() {
  printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"
}

# The body, and on a line of its own the address, which has no scheme and host.
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
