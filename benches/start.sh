#!/bin/sh
# Runs benches/apparatus/start.py; --help says what it measures and how.
PYTHONPATH="$(dirname "$0")" PYTHONDONTWRITEBYTECODE=1 exec python3 -m apparatus.start "$@"
