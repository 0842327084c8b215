/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_ids - names of services, hosts, frames and stacks as numbers that all hosts agree on.
 *
 *   uint64_t service = gg_fleet_service_id("checkout");
 *   uint64_t frame = gg_fleet_native_frame_id("5f2c...", NULL, 0x1234);
 *   struct gg_fleet_stack_id stack = gg_fleet_stack_id(frames, frame_count);
 *
 * The rows of a fleet carry ids instead of texts.  An id is a hash of content, so two hosts that
 * see the same stack send the same id and need not talk to each other.
 *
 * Hash      SipHash-2-4 with a fixed key: 64 bits, and 128 bits for stacks.  Each text goes in with
 *           its length, and each kind of id begins with a byte of its own, so no two contents
 *           have the same bytes.  Unlike base/hash.h, the values are a format: stores keep
 *           them for years, so they never change (tests/unit/test_fleet_ids.c pins them).
 * Collision 10^9 frames have a chance of 3 % that any two of them share an id, and 10^12 stacks one
 *           of 1.5e-15.  Id 0 is never given, so that rows can use 0 for "none".
 * Threads   any; pure functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gg_fleet_stack_id {
	unsigned char bytes[16];
};

/* One label of a process, such as "zone" and "eu-1". */
struct gg_fleet_label {
	const char *key, *value;
};

/* The properties that all processes of one series share.  NULL texts count as empty. */
struct gg_fleet_series {
	const char *service, *version;
	const char *kind; /* "native", "python", ...: the language of the process */
	const char *heap; /* of which heap; "": malloc's */
	const char *type; /* of the blocks; "": any */
	const struct gg_fleet_label *labels;
	size_t label_count;
};

uint64_t gg_fleet_service_id(const char *name);
uint64_t gg_fleet_host_id(const char *name);

/* The order of the labels does not matter; two equal labels count as two. */
uint64_t gg_fleet_series_id(const struct gg_fleet_series *series);

/*
 * A frame of machine code: an address as the module's file has it.  A module without build-id is
 * known by its path; `module` is ignored if there is a build-id.
 */
uint64_t gg_fleet_native_frame_id(const char *build_id, const char *module, uint64_t address);

/* A frame that has only a name: an interpreted frame, or one of a profile of another tool. */
uint64_t gg_fleet_named_frame_id(const char *function, const char *file, uint32_t line);

/* Hashes the ids of the frames, the innermost (the function that allocates) first. */
struct gg_fleet_stack_id gg_fleet_stack_id(const uint64_t *frames, size_t count);

/*
 * Reads the build-id of the table `frame`, which is hexadecimal, and returns the number of bytes.
 * Returns 0 for any other text, which a sender may send, and for more than `max` bytes.
 */
size_t gg_fleet_read_build_id(const char *hex, size_t length, uint8_t *bytes, size_t max);

/* SipHash-2-4 of bytes: the function of all ids above.  `key` has 16 bytes. */
uint64_t gg_fleet_siphash64(const void *bytes, size_t length, const unsigned char *key);
void gg_fleet_siphash128(const void *bytes, size_t length, const unsigned char *key,
                         unsigned char ret_hash[16]);
