/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options - parses command lines by const tables.
 *
 * A command declares its options as a table that binds each option to a field of its own struct.
 * The help comes from the same table, so the two cannot disagree.
 *
 *   struct lab_options { uint64_t interval_bytes; bool json; };
 *
 *   static const struct gg_option options[] = {
 *           { "interval", 'i', GG_OPTION_SIZE, offsetof(struct lab_options, interval_bytes),
 *             "SIZE", "mean sampling interval (default 512KiB)" },
 *           { "json", 0, GG_OPTION_FLAG, offsetof(struct lab_options, json), NULL, "print JSON" },
 *           GG_OPTIONS_END,
 *   };
 *
 * The parser understands --name VALUE, --name=VALUE, -n VALUE, -nVALUE, and flags together as -abc.
 * After `--` every word is an operand.  Options and operands may be mixed.  If an option occurs
 * more than once, the last value counts.  An unknown option is an error that names the nearest
 * known option.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

enum gg_option_kind {
	GG_OPTION_FLAG,   /* bool: true when given */
	GG_OPTION_TEXT,   /* const char *: points into argv */
	GG_OPTION_SIZE,   /* uint64_t: bytes, as gg_size_parse() reads them */
	GG_OPTION_COUNT,  /* uint64_t: a whole number, decimal */
	GG_OPTION_NUMBER, /* double: finite */
	GG_OPTION_TIME,   /* double: seconds, > 0; "90", "1.5s", "10m", "2h", "1d" */
	GG_OPTION_CHOICE, /* int: position in the placeholder, "auto|always|never" */
	GG_OPTION_PAIRS,  /* struct gg_option_pairs: KEY=VALUE, as often as wanted */
};

enum { GG_OPTION_PAIRS_MAX = 32 };

struct gg_option_pair {
	const char *key, *value; /* both point into argv; a 0 byte has replaced the = */
};

struct gg_option_pairs {
	struct gg_option_pair pairs[GG_OPTION_PAIRS_MAX];
	size_t count;
};

struct gg_option {
	const char *name;         /* without its dashes; NULL ends the table */
	char letter;              /* short form; 0: none */
	enum gg_option_kind kind; /* also the type of the field */
	size_t offset;            /* offset of the field in the command's struct */
	const char *placeholder;  /* name of the value in the help; NULL for flags */
	const char *help;         /* a phrase for one line */
};

#define GG_OPTIONS_END                                 \
	{                                              \
		NULL, 0, GG_OPTION_FLAG, 0, NULL, NULL \
	}

/* A table, and the struct that its offsets refer to. */
struct gg_option_set {
	const struct gg_option *options;
	void *target;
};

enum gg_option_mode {
	GG_OPTIONS_ANYWHERE,        /* options and operands may be mixed */
	GG_OPTIONS_BEFORE_OPERANDS, /* the first operand ends the options, as in `env` */
};

/*
 * Parses argv[0..argc) by the given sets and moves the operands, in their order, to the front of
 * argv.  Returns the number of operands, or -EINVAL with an `error` that says what is wrong.
 */
GG_MUST_CHECK int gg_options_parse(const struct gg_option_set *sets, size_t set_count,
                                   enum gg_option_mode mode, int argc, char **argv,
                                   struct gg_error *error);
