#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
. "$(dirname "$0")/real.sh"
needs openssl

seq 1 400000 >"$real_input/numbers"
openssl genrsa -out "$real_input/key" 2048 2>/dev/null
cat >"$real_input/work" <<'END'
openssl dgst -sha256 "$1/numbers"; openssl dgst -sha3-512 "$1/numbers"; openssl dgst -md5 "$1/numbers"
openssl enc -aes-256-cbc -pbkdf2 -S 0011223344556677 -k secret -in "$1/numbers" -out encrypted
openssl enc -d -aes-256-cbc -pbkdf2 -S 0011223344556677 -k secret -in encrypted | cmp - "$1/numbers" && echo the same
openssl req -x509 -new -key "$1/key" -subj /CN=example.org -set_serial 7 -days 3 -out certificate
openssl x509 -in certificate -noout -subject
openssl verify -CAfile certificate certificate
openssl dgst -sha256 -sign "$1/key" -out signature "$1/numbers"
openssl ciphers -v | head -5
openssl asn1parse -in "$1/key" | head -20
openssl prime -generate -bits 64 | wc -l
openssl speed -seconds 1 -bytes 1024 sha256 aes-128-cbc
openssl nothing
END
# The certificate has times; speed prints how often it did what it did.
real_ignore=(certificate)
without_speeds() {
	sed -E "s/[0-9]+ (sha256|aes-128-cbc)('s| ops).*/N \1/; s/^(sha256|aes-128-cbc) +[0-9.]+k/\1/"
}
real_filter=without_speeds
same openssl_digests_keys_and_speed bash "$real_input/work" "$real_input"
finish
