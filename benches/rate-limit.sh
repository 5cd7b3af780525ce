#!/bin/sh
# Runs benches/apparatus/rate_limit.py; --help says what it measures and how.
PYTHONPATH="$(dirname "$0")" PYTHONDONTWRITEBYTECODE=1 exec python3 -m apparatus.rate_limit "$@"
