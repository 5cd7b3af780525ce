#!/bin/sh
# Runs benches/apparatus/start_zones.py; --help says what it measures and how.
PYTHONPATH="$(dirname "$0")" PYTHONDONTWRITEBYTECODE=1 exec python3 -m apparatus.start_zones "$@"
