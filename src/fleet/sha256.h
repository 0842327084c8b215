/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256 - the hash SHA-256 of FIPS 180-4, to know a file that geiger is about to load.
 *
 *   gg_sha256_file(fd, hex)    0, or -errno of read(); hex is 64 digits and a 0 byte
 *
 * Cost  less than 10 ns a byte.
 */
#pragma once

#include "base/compiler.h"

enum { GG_SHA256_HEX = 65 };

/* Reads the file from its start. */
GG_MUST_CHECK int gg_sha256_file(int fd, char hex[GG_SHA256_HEX]);
