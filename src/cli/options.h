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
	GG_OPTION_FLAG,  /* bool: true when given */
	GG_OPTION_TEXT,  /* const char *: points into argv */
	GG_OPTION_SIZE,  /* uint64_t: bytes, as gg_size_parse() reads them */
	GG_OPTION_COUNT, /* uint64_t: a whole number, decimal */
	/* A count whose value may be left out: --name or --name=N.  The help shows a flag. */
	GG_OPTION_COUNT_IF,
	GG_OPTION_NUMBER, /* double: finite */
	GG_OPTION_TIME,   /* double: seconds, > 0; "90", "1.5s", "10m", "2h", "1d" */
	GG_OPTION_CHOICE, /* int: position in the placeholder, "auto|always|never" */
	GG_OPTION_PAIRS,  /* struct gg_option_pairs: KEY=VALUE, as often as wanted */
	GG_OPTION_SHARED, /* no option: the rows of another table stand here */
	/* An option of other tools alone, for which `help` says what to do instead. */
	GG_OPTION_ABSENT,
};

enum { GG_OPTION_PAIRS_MAX = 32 };

/* The value of GG_OPTION_COUNT_IF without a number. */
#define GG_OPTION_COUNT_NONE UINT64_MAX

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
	/* The name of the value in the help; NULL for flags; another table for GG_OPTION_SHARED. */
	const void *placeholder;
	const char *help; /* a phrase for one line */
};

#define GG_OPTIONS_END                                 \
	{                                              \
		NULL, 0, GG_OPTION_FLAG, 0, NULL, NULL \
	}

/*
 * A row that includes the rows of another table, which several commands share.  `start` is the
 * offset of the struct, inside the command's own, that the other table refers to.  A shared table
 * has at least one row and includes no further table.
 */
#define GG_OPTIONS_SHARED(table, start)                   \
	{                                                 \
		"", 0, GG_OPTION_SHARED, start, table, "" \
	}

/*
 * Visits the options of a table and of the tables that it shares:
 *
 *   struct gg_option_walk walk;
 *   for (gg_option_walk_begin(&walk, table); walk.option != NULL; gg_option_walk_next(&walk))
 */
struct gg_option_walk {
	const struct gg_option *option; /* the current one; NULL: there are no more */
	size_t offset;                  /* offset of its field in the command's struct */
	const struct gg_option *after;  /* the row after the shared table; NULL: not in one */
	size_t shared_offset;           /* offset of the struct of the shared table, or 0 */
};
void gg_option_walk_begin(struct gg_option_walk *walk, const struct gg_option *table);
void gg_option_walk_next(struct gg_option_walk *walk);

/* A table, and the struct that its offsets refer to. */
struct gg_option_set {
	const struct gg_option *options;
	void *target;
};

enum gg_option_mode {
	GG_OPTIONS_ANYWHERE,        /* options and operands may be mixed */
	GG_OPTIONS_BEFORE_OPERANDS, /* the first operand ends the options, as in `env` */
	GG_OPTIONS_KEEP_END,        /* as ANYWHERE; the `--` that ends options stays an operand */
};

/*
 * Parses argv[0..argc) by the given sets and moves the operands, in their order, to the front of
 * argv.  Returns the number of operands, or -EINVAL with an `error` that says what is wrong.
 */
GG_MUST_CHECK int gg_options_parse(const struct gg_option_set *sets, size_t set_count,
                                   enum gg_option_mode mode, int argc, char **argv,
                                   struct gg_error *error);
