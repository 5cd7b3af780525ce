"""Runs every measurement one after the other and prints what each says: the table of figures of a release.

Use the scripts alone for other sizes. `--quick` takes small zones and short trials: it shows that everything works, its
figures mean nothing."""

import argparse
import os
import subprocess
import sys

from . import record

# Script, options for the full run, options for the quick one.
ROWS = [
    ("memory", [], ["--delegations", "20000", "--queries", "20000"]),
    ("memory", ["--hosting", "10000"], ["--hosting", "100", "--queries", "20000"]),
    ("start", [], ["--delegations", "20000", "--repeats", "1", "--pack-repeats", "2"]),
    ("veth", [], ["--blocks", "1", "--trials", "3", "--trial-seconds", "0.3", "--width", "0.2", "--echo-spread", "1"]),
    ("reload", [], ["--zones", "200", "--changes", "3", "--rate", "2000"]),
]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="small and short: a self-check")
    options.add_argument("--contenders", default="zonda,knot,nsd,named")
    options.add_argument("--names", help="file of real names for generated zones")
    options.add_argument("--record", help="folder for the JSON records")
    arguments = options.parse_args()
    shared = ["--contenders", arguments.contenders]
    for option in ("names", "record"):
        if getattr(arguments, option):
            shared += [f"--{option}", os.path.abspath(getattr(arguments, option))]
    failed = []
    for script, full, quick in ROWS:
        words = [os.path.join(record.BENCHES, f"{script}.sh"), *(quick if arguments.quick else full), *shared]
        print(f"\n$ {' '.join(words)}", flush=True)
        if subprocess.run(words).returncode:
            failed.append(script)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
