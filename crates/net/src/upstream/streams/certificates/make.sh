#!/bin/sh
# The certificates of the tests beside: an authority, a server "dns.example" at 127.0.0.1 of it, and one of the same name that nobody vouches for.
# Valid for a hundred years; the keys guard nothing.
set -eu
cd "$(dirname "$0")"
key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }
key authority.key
openssl req -x509 -new -key authority.key -days 36500 -subj "/CN=Test authority" -out authority.pem \
    -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign"
for name in server stranger; do
    key $name.key
    printf 'subjectAltName=DNS:dns.example,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' > extensions
    openssl req -new -key $name.key -subj "/CN=dns.example" -out request
    if [ $name = server ]; then
        openssl x509 -req -in request -CA authority.pem -CAkey authority.key -days 36500 -set_serial 2 -extfile extensions -out $name.pem
    else
        openssl x509 -req -in request -signkey $name.key -days 36500 -set_serial 3 -extfile extensions -out $name.pem
    fi
done
openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary > server.pin
rm -f request extensions authority.key
