#!/bin/sh
# Installs what the tests need and this machine lacks, from Debian's packages: the servers, their tools and the load generator
# that Zonda and its own are compared with, their clients, faketime to run these at another time, valgrind and objdump to count what servers execute, tshark to count the messages of captures, a C++ compiler for the fuzzing
# engine, certificates of tests, Prometheus as the reader of numbers, sqlite3 as one who writes stores by SQL, PostgreSQL for stores in a server, PowerDNS's tables and what makes and serves them, what reads dnstap, manual pages, completions and units, what makes a package. Asks for rights with sudo where it is not root. Starts no service.
# tests/setup.sh --peers unstable [FOLDER]: unpacks the newest servers beside the installed ones, and installs nothing.
set -eu

case ${1-} in
    '') ;;
    --peers)
        shift
        cd "$(dirname "$0")/.."
        exec "${CARGO:-cargo}" run --locked --quiet --package zonda-bench -- lab peers "$@" ;;
    *)
        echo "tests/setup.sh: unknown option $1; usage: tests/setup.sh [--peers unstable [FOLDER]]" >&2
        exit 2 ;;
esac

# program:package, or file:package where no program tells whether it is there
needed="named:bind9 dnssec-signzone:bind9-utils dnssec-keygen:bind9-utils dig:bind9-dnsutils nsupdate:bind9-dnsutils dnstap-read:bind9-dnsutils fstrm_capture:fstrm-bin nsd:nsd knotd:knot
    kzonecheck:knot-dnssecutils knsupdate:knot-dnsutils kdig:knot-dnsutils kea-dhcp-ddns:kea-dhcp-ddns-server unbound:unbound pdns_server:pdns-server pdns_server:pdns-backend-bind
    dnsperf:dnsperf faketime:faketime valgrind:valgrind objdump:binutils
    tshark:tshark ip:iproute2 g++:g++ openssl:openssl man:man-db zsh:zsh fish:fish systemd-analyze:systemd
    dpkg-shlibdeps:dpkg-dev update-ca-certificates:ca-certificates prometheus:prometheus promtool:prometheus sqlite3:sqlite3 initdb:postgresql
    pdnsutil:pdns-server /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql:pdns-backend-sqlite3
    /usr/share/pdns-backend-pgsql/schema/schema.pgsql.sql:pdns-backend-pgsql"
# Debian has PostgreSQL's server in a folder of its version.
find_more() {
    PATH=$PATH:/usr/sbin:/sbin
    for folder in /usr/lib/postgresql/*/bin; do PATH=$PATH:$folder; done
}
find_more
missing=
is_there() {
    case $1 in
        /*) [ -e "$1" ] ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}
for pair in $needed; do
    is_there "${pair%%:*}" || missing="$missing ${pair#*:}"
done
if [ -z "$missing" ]; then
    echo "tests/setup.sh: all programs for the comparison are installed"
    exit 0
fi

echo "tests/setup.sh: installing with apt-get:$missing"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "tests/setup.sh: this system has no apt-get; install these by hand:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "tests/setup.sh: not root and no sudo; as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

# A policy that forbids package scripts to start the servers as services; removed again whatever happens.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '$as_root rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
fi
$as_root apt-get update
# shellcheck disable=SC2086 # a list of packages
DEBIAN_FRONTEND=noninteractive $as_root apt-get install --yes --no-install-recommends $missing
find_more
for pair in $needed; do
    is_there "${pair%%:*}" || { echo "tests/setup.sh: ${pair%%:*} is still missing" >&2; exit 1; }
done
