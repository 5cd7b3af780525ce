#!/bin/sh
# Builds a server that does some work of no use for each query, for `zonda-bench lab self --against`.
#
#   measure/lab/self/dearer.sh STEPS     leaves target/self/zonda-STEPS
#
# STEPS: how often a loop of a few instructions is run for each query. How much that is of an answer, in instructions and in
# processor time, is for `lab self` to measure: the product itself has no such thing, and its tree stays as it is.
set -eu

case "${1:-}" in
'' | *[!0-9]*)
    echo "usage: $0 STEPS (a number)" >&2
    exit 2
    ;;
esac
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
tree=$PWD/target/self/tree
made=$PWD/target/self/zonda-$1

rm -rf "$tree"
mkdir -p "$tree"
# What is committed, with no repository around it: the server says no commit of its own.
git archive HEAD | tar -x -C "$tree"
patch -d "$tree" -p1 --forward --quiet <measure/lab/self/dearer.patch
(cd "$tree" && ZONDA_HANDICAP=$1 CARGO_TARGET_DIR="$PWD/../build" cargo build --locked --release -p zonda)
cp target/self/build/release/zonda "$made"
rm -rf "$tree"
echo "$made"
