/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options - the parser of command lines.
 *
 * It makes one pass over the arguments.  For each option it searches the sets in their order, so
 * common options come before those of the command.  A value goes straight into its field, so an
 * error can leave earlier fields set; the caller then runs nothing.
 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/size.h"
#include "cli/suggest.h"

/* Completes a walk whose option is the next row, which may be the end of its table. */
static void skip_absent(struct gg_option_walk *walk)
{
	while (walk->option->name != NULL && walk->option->kind == GG_OPTION_ABSENT)
		walk->option++;
}

static void enter_row(struct gg_option_walk *walk)
{
	skip_absent(walk);
	if (walk->after != NULL && walk->option->name == NULL) {
		walk->option = walk->after;
		walk->after = NULL;
		walk->shared_offset = 0;
		skip_absent(walk);
	}
	if (walk->option->kind == GG_OPTION_SHARED) {
		gg_assert(walk->after == NULL);
		walk->after = walk->option + 1;
		walk->shared_offset = walk->option->offset;
		walk->option = walk->option->placeholder;
	}
	walk->offset = walk->shared_offset + walk->option->offset;
	if (walk->option->name == NULL)
		walk->option = NULL;
}

void gg_option_walk_begin(struct gg_option_walk *walk, const struct gg_option *table)
{
	*walk = (struct gg_option_walk){ .option = table };
	if (table != NULL)
		enter_row(walk);
}

void gg_option_walk_next(struct gg_option_walk *walk)
{
	walk->option++;
	enter_row(walk);
}

/* The state of a parse; argv[at] is the current argument. */
struct cursor {
	const struct gg_option_set *sets;
	size_t set_count;
	char **argv;
	int argc, at;
	struct gg_error *error;
};

/* An option that the parser found in one of the sets, with its field. */
struct match {
	const struct gg_option *option;
	void *field;
};

/* Finds an option by its name (letter is 0) or by its letter. */
static bool find_option(const struct cursor *c, const char *name, size_t length, char letter,
                        struct match *ret_match)
{
	struct gg_option_walk walk;

	for (size_t i = 0; i < c->set_count; i++) {
		gg_option_walk_begin(&walk, c->sets[i].options);
		for (; walk.option != NULL; gg_option_walk_next(&walk)) {
			const char *own = walk.option->name;
			bool same = letter != 0 ? walk.option->letter == letter
			                        : strncmp(own, name, length) == 0 &&
			                                  own[length] == '\0';

			if (!same)
				continue;
			ret_match->option = walk.option;
			ret_match->field = (char *)c->sets[i].target + walk.offset;
			return true;
		}
	}
	return false;
}

/* Returns what to do instead of an option of another tool; NULL: no table knows that option. */
static const char *absent_advice(const struct cursor *c, const char *name, char letter)
{
	for (size_t i = 0; i < c->set_count; i++) {
		const struct gg_option *option = c->sets[i].options;

		for (; option != NULL && option->name != NULL; option++)
			if (option->kind == GG_OPTION_ABSENT &&
			    (letter != 0 ? option->letter == letter
			                 : strcmp(option->name, name) == 0))
				return option->help;
	}
	return NULL;
}

/*
 * Reports an unknown option.  Only long names get a suggestion: a wrong letter is as near to every
 * other one.
 */
static int unknown_option(const struct cursor *c, const char *name, size_t length)
{
	struct gg_suggestion nearest = { 0 };
	struct gg_option_walk walk;
	char wanted[64], advice[128];
	const char *instead;

	snprintf(wanted, sizeof(wanted), "%.*s", (int)length, name);
	instead = absent_advice(c, wanted, 0);
	for (size_t i = 0; i < c->set_count; i++) {
		gg_option_walk_begin(&walk, c->sets[i].options);
		for (; walk.option != NULL; gg_option_walk_next(&walk))
			gg_suggest(&nearest, wanted, walk.option->name);
	}
	if (instead != NULL)
		snprintf(advice, sizeof(advice), "%s", instead);
	else if (nearest.name != NULL)
		snprintf(advice, sizeof(advice), "Did you mean '--%s'?", nearest.name);
	else
		snprintf(advice, sizeof(advice), "'--help' lists the options.");
	return gg_error_set(c->error, -EINVAL, NULL, advice, "unknown option '--%.*s'", (int)length,
	                    name);
}

static int bad_value(const struct cursor *c, const struct gg_option *option, const char *value,
                     const char *why, const char *advice)
{
	gg_error_set(c->error, -EINVAL, NULL, advice, "'%s' %s", value, why);
	gg_error_set_place(c->error, "--%s", option->name);
	return -EINVAL;
}

static int parse_count(const char *value, uint64_t *ret_count)
{
	char *end;

	/* strtoull() would accept a sign and blanks, which are wrong here. */
	if (!isdigit((unsigned char)value[0]))
		return -EINVAL;
	errno = 0;
	*ret_count = strtoull(value, &end, 10);
	return *end != '\0' ? -EINVAL : -errno;
}

/* Parses a number with an optional unit, and limits it to 1e9 before the unit multiplies it. */
static int parse_time(const char *value, double *ret_seconds)
{
	static const struct {
		char unit;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;
	double number = strtod(value, &end);

	if (end == value || !(number > 0) || !(number < 1e9))
		return -EINVAL;
	if (*end == '\0') {
		*ret_seconds = number;
		return 0;
	}
	for (size_t i = 0; i < GG_COUNT(units); i++) {
		if (end[0] != units[i].unit || end[1] != '\0')
			continue;
		*ret_seconds = number * units[i].seconds;
		return 0;
	}
	return -EINVAL;
}

/* Returns the position of the value among "a|b|c", or -1 if it is not a choice. */
static int parse_choice(const char *value, const char *choices)
{
	size_t length = strlen(value);

	for (int position = 0; choices != NULL; position++) {
		const char *end = strchrnul(choices, '|');

		if ((size_t)(end - choices) == length && memcmp(choices, value, length) == 0)
			return position;
		choices = *end == '|' ? end + 1 : NULL;
	}
	return -1;
}

static int bad_choice(const struct cursor *c, const struct gg_option *option, const char *value)
{
	char advice[128];

	snprintf(advice, sizeof(advice), "Give one of %s.", (const char *)option->placeholder);
	return bad_value(c, option, value, "is not a choice", advice);
}

/*
 * Adds KEY=VALUE to the pairs.  A later value of the same key replaces the earlier one.  The `=` in
 * argv becomes the 0 byte that ends the key.
 */
static int add_pair(const struct cursor *c, const struct gg_option *option, char *text,
                    struct gg_option_pairs *pairs)
{
	char *equals = strchr(text, '=');
	size_t i = 0;

	if (equals == NULL || equals == text)
		return bad_value(c, option, text, "is not KEY=VALUE",
		                 "Give a pair such as host=web-3.");
	*equals = '\0';
	while (i < pairs->count && strcmp(pairs->pairs[i].key, text) != 0)
		i++;
	if (i == GG_OPTION_PAIRS_MAX)
		return bad_value(c, option, text, "is one too many", "There may be 32 of them.");
	pairs->pairs[i] = (struct gg_option_pair){ text, equals + 1 };
	pairs->count += i == pairs->count;
	return 0;
}

/* Stores the value in the option's field.  A bad value leaves the field as it was. */
static int store_value(const struct cursor *c, const struct match *m, char *value)
{
	uint64_t number;
	double real;
	char *end;
	int choice, status;

	switch (m->option->kind) {
	case GG_OPTION_FLAG:
		*(bool *)m->field = true;
		return 0;
	case GG_OPTION_TEXT:
		if (*value == '\0' && strcmp(m->option->placeholder, "FILE") == 0)
			return bad_value(c, m->option, value, "is not the name of a file",
			                 "Give a name, or leave the option away.");
		*(const char **)m->field = value;
		return 0;
	case GG_OPTION_SIZE:
		status = gg_size_parse(value, &number);
		if (status == -ERANGE)
			return bad_value(c, m->option, value, "is too large", GG_SIZE_ADVICE);
		if (status < 0)
			return bad_value(c, m->option, value, "is not a size", GG_SIZE_ADVICE);
		*(uint64_t *)m->field = number;
		return 0;
	case GG_OPTION_COUNT_IF:
	case GG_OPTION_COUNT:
		/* Only the first of the two may have no value. */
		if (value == NULL) {
			*(uint64_t *)m->field = GG_OPTION_COUNT_NONE;
			return 0;
		}
		status = parse_count(value, &number);
		if (status < 0)
			return bad_value(c, m->option, value,
			                 status == -ERANGE ? "is too large"
			                                   : "is not a whole number",
			                 "Give decimal digits only.");
		*(uint64_t *)m->field = number;
		return 0;
	case GG_OPTION_NUMBER:
		real = strtod(value, &end);
		if (end == value || *end != '\0' || !isfinite(real))
			return bad_value(c, m->option, value, "is not a number",
			                 "Give a number such as 0.95.");
		*(double *)m->field = real;
		return 0;
	case GG_OPTION_TIME:
		if (parse_time(value, &real) < 0)
			return bad_value(c, m->option, value, "is not a time",
			                 "Give a time such as 90, 1.5s, 10m, 2h or 1d.");
		*(double *)m->field = real;
		return 0;
	case GG_OPTION_CHOICE:
		choice = parse_choice(value, m->option->placeholder);
		if (choice < 0)
			return bad_choice(c, m->option, value);
		*(int *)m->field = choice;
		return 0;
	case GG_OPTION_PAIRS:
		return add_pair(c, m->option, value, m->field);
	case GG_OPTION_SHARED: /* a walk enters the shared table instead, and skips absent ones */
	case GG_OPTION_ABSENT:
		break;
	}
	gg_assert(false);
	return -EINVAL;
}

/* True if the next argument is the option's value, unless a value is attached. */
static bool takes_next(const struct gg_option *option)
{
	return option->kind != GG_OPTION_FLAG && option->kind != GG_OPTION_COUNT_IF;
}

/* Finds the value of an option, which is attached to it or is the next argument, and stores it. */
static int store_option(struct cursor *c, const struct match *m, char *attached)
{
	char *value = attached;

	/*
	 * The next argument is the value even if it begins with a dash, so "-o -" writes to
	 * standard output.
	 */
	if (takes_next(m->option) && value == NULL) {
		if (c->at + 1 >= c->argc) {
			gg_error_set(c->error, -EINVAL, NULL, NULL, "needs a value: --%s %s",
			             m->option->name, (const char *)m->option->placeholder);
			gg_error_set_place(c->error, "--%s", m->option->name);
			return -EINVAL;
		}
		value = c->argv[++c->at];
	}
	return store_value(c, m, value);
}

static int parse_long(struct cursor *c, char *name)
{
	size_t length = strcspn(name, "=");
	char *attached = name[length] == '=' ? name + length + 1 : NULL;
	struct match m;

	if (!find_option(c, name, length, 0, &m))
		return unknown_option(c, name, length);
	/* A value such as --json=no would be ignored otherwise, and the flag would be set. */
	if (attached != NULL && m.option->kind == GG_OPTION_FLAG)
		return bad_value(c, m.option, attached, "is a value, and the option takes none",
		                 NULL);
	return store_option(c, &m, attached);
}

static int parse_short(struct cursor *c, char *letters)
{
	for (; *letters != '\0'; letters++) {
		char *attached = letters[1] != '\0' ? letters + 1 : NULL;
		struct match m;
		int status;

		if (!find_option(c, NULL, 0, *letters, &m)) {
			const char *instead = absent_advice(c, NULL, *letters);

			return gg_error_set(c->error, -EINVAL, NULL,
			                    instead != NULL ? instead
			                                    : "'--help' lists the options.",
			                    "unknown option '-%c'", *letters);
		}
		/*
		 * The letters behind an option with a value are that value: -n5.  Otherwise they
		 * are further flags: -abc.
		 */
		if (takes_next(m.option))
			return store_option(c, &m, attached);
		status = store_option(c, &m, NULL);
		if (status < 0)
			return status;
	}
	return 0;
}

int gg_options_parse(const struct gg_option_set *sets, size_t set_count, enum gg_option_mode mode,
                     int argc, char **argv, struct gg_error *error)
{
	struct cursor c = { sets, set_count, argv, argc, 0, error };
	bool options_ended = false;
	int operand_count = 0;

	for (; c.at < argc; c.at++) {
		char *argument = argv[c.at];

		gg_assert(operand_count <= c.at); /* operands overwrite only what was read */
		int status = 0;

		/*
		 * A single "-" is an operand: standard input or output.  Operands move to the front
		 * of argv while the loop reads further back, so no unread argument is overwritten.
		 */
		if (options_ended || argument[0] != '-' || argument[1] == '\0') {
			argv[operand_count++] = argument;
			options_ended |= mode == GG_OPTIONS_BEFORE_OPERANDS;
		} else if (strcmp(argument, "--") == 0) {
			options_ended = true;
			if (mode == GG_OPTIONS_KEEP_END)
				argv[operand_count++] = argument;
		} else if (argument[1] == '-') {
			status = parse_long(&c, argument + 2);
		} else {
			status = parse_short(&c, argument + 1);
		}
		if (status < 0)
			return status;
	}
	return operand_count;
}
