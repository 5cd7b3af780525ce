#!/bin/sh
# Runs benches/apparatus/reload_large.py; --help says what it measures and how.
PYTHONPATH="$(dirname "$0")" PYTHONDONTWRITEBYTECODE=1 exec python3 -m apparatus.reload_large "$@"
