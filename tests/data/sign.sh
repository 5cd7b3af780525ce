#!/bin/sh
# Makes the signed zones of tests/data/zones anew, with BIND's tools. Needed only after a change of corners.zone or
# parent.zone: the signed text is kept, so that every run of the tests sees the same octets. Signatures end in 2038.
set -eu
cd "$(dirname "$0")/zones"
keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT

# sign ORIGIN SOURCE [option...]: one ECDSA key for everything, one record a line.
sign() {
    origin=$1 source=$2
    shift 2
    key=$(dnssec-keygen -q -K "$keys" -a ECDSAP256SHA256 -f KSK "$origin")
    cat "$source" "$keys/$key.key" >"$keys/$origin"
    dnssec-signzone -q -z -P -O full -s 20260101000000 -e 20380101000000 -o "$origin" -d "$keys" \
        -f "$keys/$origin.signed" "$@" "$keys/$origin" "$keys/$key" >/dev/null
    {
        echo "; $source under $origin, signed by ../sign.sh; do not edit."
        grep -v '^;' "$keys/$origin.signed"
    } >"$origin.zone"
}

sign test parent.zone
sign nsec.test corners.zone
sign nsec3.test corners.zone -3 -
sign optout.test corners.zone -3 - -A
sign salted.test corners.zone -3 aabbccdd -H 10
# The example zones of RFC 4035 A and RFC 5155 A; the names, salt and iterations are theirs, the keys are not.
sign_example() {
    target=$1 source=$2
    shift 2
    sign example "$source" "$@"
    mv example.zone "$target"
}
sign_example rfc4035.signed.zone rfc4035.zone
sign_example rfc5155.signed.zone rfc5155.zone -3 aabbccdd -H 12 -A
