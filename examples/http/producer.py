"""Stores a job over HTTP with nothing but Python's standard library.

    STINT_URL=http://127.0.0.1:7766 STINT_TOKEN=stint_... python3 examples/http/producer.py ana@example.com

A request that got no answer, or was told to come back, is sent again with the same Idempotency-Key: it is stored once.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid


def enqueue(kind, input, key=None, tries=5):
    """The accepted job: its id, its state, and links to follow it."""
    key = key or str(uuid.uuid4())
    for attempt in range(1, tries + 1):
        request = urllib.request.Request(
            os.environ["STINT_URL"] + "/v1/jobs",
            data=json.dumps({"kind": kind, "input": input}).encode(),
            headers={
                "Authorization": "Bearer " + os.environ["STINT_TOKEN"],
                "Content-Type": "application/json",
                "Idempotency-Key": key,
            },
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            wait = error.headers.get("Retry-After")
            if wait is None or attempt == tries:
                problem = json.load(error)
                raise SystemExit(f"{problem['title']}: {json.dumps(problem.get('errors', problem['detail']))}")
            time.sleep(float(wait))
        except (urllib.error.URLError, TimeoutError):
            if attempt == tries:
                raise
            time.sleep(0.2 * 2**attempt)


if __name__ == "__main__":
    job = enqueue("mail.send", {"to": sys.argv[1]}, *sys.argv[2:3])
    print(job["id"])
