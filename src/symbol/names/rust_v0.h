/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rust_v0 - the parts of the demangler of Rust's v0 names, which RFC 2603 and the rustc book define: _R,
 * a path, and sometimes the path of the crate that it was instantiated in, and a suffix.
 *
 *   rust_v0.c            paths and types
 *   rust_v0_constant.c   constants in generic arguments
 *   rust_v0_text.c       reading the name, printing the result
 *
 * A recursive descent that prints as it reads.  What is not to be seen is read with `quiet`; a back
 * reference is followed only where it is seen.  Left out, as rustc's own tools do by default:
 * crates' disambiguators, and the types of integer constants.
 *
 * Failing  `failed` once set stays; then nothing is printed, and loops end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct gg_v0 {
	const char *name; /* behind _R; back references count from here */
	size_t length, at;
	struct gg_buf *out;
	size_t out_max;
	unsigned quiet, depth, steps;
	uint64_t bound_lifetimes; /* that the enclosing "for<...>" name */
	bool is_short, failed;
};

struct gg_v0_identifier {
	const char *text;
	size_t length;
	uint64_t disambiguator;
	bool is_punycode;
};

/* --- reading ------------------------------------------------------------------------------ */

/* The next character, taken or not; 0 at the end, where taking one fails. */
char gg_v0_peek(const struct gg_v0 *v);
char gg_v0_next(struct gg_v0 *v);

/* Takes it if it is this one. */
bool gg_v0_eat(struct gg_v0 *v, char c);

/* Digits and letters up to "_"; "_" alone is 0, "0_" is 1. */
uint64_t gg_v0_base_62(struct gg_v0 *v);

/* A number behind a tag that may be missing: then 0, else 1 more than the number. */
uint64_t gg_v0_optional_62(struct gg_v0 *v, char tag);

struct gg_v0_identifier gg_v0_undisambiguated(struct gg_v0 *v);
struct gg_v0_identifier gg_v0_identifier(struct gg_v0 *v);

/* True: there is one more of a list that ends in E. */
bool gg_v0_more(struct gg_v0 *v);

/* Each part of the grammar begins by enter(), if that is true, and ends by leave(). */
bool gg_v0_enter(struct gg_v0 *v);
void gg_v0_leave(struct gg_v0 *v);

/*
 * Goes where the reference, whose B was just read, leads; returns the place to come back to.  It
 * leads backwards, so that following them ends.
 */
size_t gg_v0_follow(struct gg_v0 *v);

/* --- printing ----------------------------------------------------------------------------- */

void gg_v0_print_bytes(struct gg_v0 *v, const char *bytes, size_t length);
void gg_v0_print(struct gg_v0 *v, const char *text);
void gg_v0_print_number(struct gg_v0 *v, uint64_t number);
void gg_v0_print_identifier(struct gg_v0 *v, const struct gg_v0_identifier *id);

/* 1 is the innermost bound lifetime; 0 is '_. */
void gg_v0_print_lifetime(struct gg_v0 *v, uint64_t lifetime);

/* --- parts of the grammar ----------------------------------------------------------------- */

/* in_value: among expressions, where generic arguments need "::" and structures no braces. */
void gg_v0_path(struct gg_v0 *v, bool in_value);
void gg_v0_constant(struct gg_v0 *v, bool in_value);
