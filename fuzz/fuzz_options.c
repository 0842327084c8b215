/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile command lines: options of every kind are read or refused with a message, operands keep
 * their order, and a value that was taken is within its limits.  Each line of the input is an
 * argument.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cli/options.h"
#include "stats/sampling/scheme.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARGUMENTS_MAX = 64 };

struct values {
	bool flag, other;
	const char *text;
	uint64_t size_bytes, count;
	double number, seconds;
	int choice;
	struct gg_option_pairs pairs;
};

static const struct gg_option options[] = {
	{ "flag", 'f', GG_OPTION_FLAG, offsetof(struct values, flag), NULL, "a flag" },
	{ "other", 'o', GG_OPTION_FLAG, offsetof(struct values, other), NULL, "another" },
	{ "text", 't', GG_OPTION_TEXT, offsetof(struct values, text), "TEXT", "a text" },
	{ "size", 's', GG_OPTION_SIZE, offsetof(struct values, size_bytes), "SIZE", "a size" },
	{ "count", 'c', GG_OPTION_COUNT, offsetof(struct values, count), "N", "a number" },
	{ "number", 'n', GG_OPTION_NUMBER, offsetof(struct values, number), "X", "a number" },
	{ "time", 0, GG_OPTION_TIME, offsetof(struct values, seconds), "TIME", "a time" },
	{ "choice", 0, GG_OPTION_CHOICE, offsetof(struct values, choice), "auto|always|never",
	  "a choice" },
	{ "label", 'l', GG_OPTION_PAIRS, offsetof(struct values, pairs), "KEY=VALUE", "a label" },
	GG_OPTIONS_END,
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void parse(int argc, char **argv, enum gg_option_mode mode)
{
	struct values values = { .number = 1, .seconds = 1 };
	const struct gg_option_set set = { options, &values };
	struct gg_error error = { 0 };
	int operands = gg_options_parse(&set, 1, mode, argc, argv, &error);

	require(operands == -EINVAL || (operands >= 0 && operands <= argc));
	if (operands == -EINVAL) {
		require(error.message[0] != '\0');
		return;
	}
	require(values.choice >= 0 && values.choice <= 2);
	require(isfinite(values.number) && isfinite(values.seconds) && values.seconds > 0);
	require(values.pairs.count <= GG_OPTION_PAIRS_MAX);
	for (size_t i = 0; i < values.pairs.count; i++)
		require(strchr(values.pairs.pairs[i].key, '=') == NULL);
}

static void parse_word(const char *word)
{
	uint64_t bytes = 0;
	enum gg_scheme scheme = GG_SCHEME_POISSON;

	if (gg_size_parse(word, &bytes) == 0)
		require(word[0] != '\0');
	if (gg_scheme_parse(word, &scheme) == 0)
		require(strcmp(gg_scheme_name(scheme), word) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int mode = GG_OPTIONS_ANYWHERE; mode <= GG_OPTIONS_BEFORE_OPERANDS; mode++) {
		char *argv[ARGUMENTS_MAX + 1] = { 0 };
		char *text = malloc(size + 1), *rest = text;
		int argc = 0;

		require(text != NULL);
		memcpy(text, data, size);
		text[size] = '\0';
		while (rest != NULL && argc < ARGUMENTS_MAX)
			argv[argc++] = strsep(&rest, "\n");
		for (int i = 0; i < argc; i++)
			parse_word(argv[i]);
		parse(argc, argv, (enum gg_option_mode)mode);
		free(text);
	}
	return 0;
}
