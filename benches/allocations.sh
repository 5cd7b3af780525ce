#!/bin/sh
# Runs benches/apparatus/allocations.py; --help says what it measures and how.
PYTHONPATH="$(dirname "$0")" PYTHONDONTWRITEBYTECODE=1 exec python3 -m apparatus.allocations "$@"
