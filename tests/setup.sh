#!/bin/sh
# Installs what the tests need and this machine lacks, from Debian's packages: the servers, their tools and the load generator
# that Zonda and its own are compared with, their clients, faketime to run these at another time, valgrind and objdump to count what servers execute, strace to have a disk hang, tshark to count the messages of captures, a C++ compiler for the fuzzing
# engine, certificates of tests, Prometheus as the reader of numbers, sqlite3 as one who writes stores by SQL, PostgreSQL for stores in a server, PowerDNS's tables and what makes and serves them, what reads dnstap, manual pages, completions and units, what makes a package, clients of the API, a browser without a window (100 MB, and 300 MB once unpacked). Asks for rights with sudo where it is not root. Starts no service.
# octoDNS, which Debian has not, comes from PyPI: versions and hashes are in tests/operator/api/clients/octodns.txt, and it stays beside what is built until that file or Python is another.
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

cd "$(dirname "$0")/.."
# program:package, or file:package where no program tells whether it is there
needed="named:bind9 dnssec-signzone:bind9-utils dnssec-keygen:bind9-utils dig:bind9-dnsutils nsupdate:bind9-dnsutils dnstap-read:bind9-dnsutils fstrm_capture:fstrm-bin nsd:nsd knotd:knot
    kzonecheck:knot-dnssecutils knsupdate:knot-dnsutils kdig:knot-dnsutils kea-dhcp-ddns:kea-dhcp-ddns-server unbound:unbound pdns_server:pdns-server pdns_server:pdns-backend-bind
    dnsperf:dnsperf faketime:faketime valgrind:valgrind objdump:binutils strace:strace
    tshark:tshark ip:iproute2 g++:g++ openssl:openssl man:man-db zsh:zsh fish:fish systemd-analyze:systemd
    dpkg-shlibdeps:dpkg-dev update-ca-certificates:ca-certificates prometheus:prometheus promtool:prometheus sqlite3:sqlite3 initdb:postgresql
    curl:curl lego:lego chromium-headless-shell:chromium-headless-shell
    pdnsutil:pdns-server /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql:pdns-backend-sqlite3
    /usr/share/pdns-backend-pgsql/schema/schema.pgsql.sql:pdns-backend-pgsql"
# Debian has PostgreSQL's server in a folder of its version.
find_more() {
    PATH=$PATH:/usr/sbin:/sbin
    for folder in /usr/lib/postgresql/*/bin; do PATH=$PATH:$folder; done
}
find_more
install_octodns() {
    wanted=tests/operator/api/clients/octodns.txt
    folder=${CARGO_TARGET_DIR:-target}/octodns
    # What is installed is of one version of Python.
    mark=$(cat "$wanted" && python3 --version)
    if [ "$mark" = "$(cat "$folder/installed.txt" 2>/dev/null)" ]; then return; fi
    echo "tests/setup.sh: installing octoDNS in $folder"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes --requirement "$wanted"
    printf '%s\n' "$mark" >"$folder/installed.txt"
}
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
# A part of Python that Debian has apart.
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
if [ -z "$missing" ]; then
    install_octodns
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
install_octodns
