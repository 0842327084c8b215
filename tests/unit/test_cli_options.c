/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_options - shows how command lines are parsed, and which mistakes are explained. */
#include "cli/options.h"

#include <errno.h>

#include "cli/suggest.h"
#include "test.h"

struct sample_options {
	bool verbose, quiet;
	const char *output;
	uint64_t interval_bytes, limit;
	double confidence;
	int color;
};

static const struct gg_option table[] = {
	{ "verbose", 'v', GG_OPTION_FLAG, offsetof(struct sample_options, verbose), NULL, "talk" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct sample_options, quiet), NULL, "hush" },
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct sample_options, output), "FILE", "where" },
	{ "interval", 'i', GG_OPTION_SIZE, offsetof(struct sample_options, interval_bytes), "SIZE",
	  "how often" },
	{ "limit", 0, GG_OPTION_COUNT, offsetof(struct sample_options, limit), "N", "rows" },
	{ "confidence", 0, GG_OPTION_NUMBER, offsetof(struct sample_options, confidence), "P",
	  "how sure" },
	{ "color", 0, GG_OPTION_CHOICE, offsetof(struct sample_options, color), "auto|always|never",
	  "colour" },
	GG_OPTIONS_END,
};

/* Parses a blank-separated line; the words stay in `words`. */
struct parsed {
	int count;
	struct sample_options options;
	struct gg_error error;
	char text[256];
	char *words[16];
};

static struct parsed *parse(const char *line, enum gg_option_mode mode)
{
	static struct parsed p;
	struct gg_option_set set = { table, &p.options };
	int argc = 0;

	memset(&p, 0, sizeof(p));
	snprintf(p.text, sizeof(p.text), "%s", line);
	for (char *word = strtok(p.text, " "); word != NULL; word = strtok(NULL, " "))
		p.words[argc++] = word;
	p.count = gg_options_parse(&set, 1, mode, argc, p.words, &p.error);
	return &p;
}

TEST(values_are_attached_or_follow)
{
	static const char *const lines[] = { "--interval 64k --output f",
		                             "--interval=64k --output=f", "-i 64k -o f",
		                             "-i64k -of" };

	for (size_t i = 0; i < GG_COUNT(lines); i++) {
		struct parsed *p = parse(lines[i], GG_OPTIONS_ANYWHERE);

		CHECK_MSG(p->count == 0 && p->options.interval_bytes == 65536 &&
		                  strcmp(p->options.output, "f") == 0,
		          "%s", lines[i]);
	}
}

TEST(every_kind_is_stored_in_its_field)
{
	struct parsed *p = parse("-v --limit 20 --confidence 0.99 --color never",
	                         GG_OPTIONS_ANYWHERE);

	CHECK(p->count == 0 && p->options.verbose && !p->options.quiet);
	CHECK(p->options.limit == 20 && p->options.confidence == 0.99 && p->options.color == 2);
}

TEST(short_flags_may_stand_together)
{
	struct parsed *p = parse("-vqi64k", GG_OPTIONS_ANYWHERE);

	CHECK(p->count == 0 && p->options.verbose && p->options.quiet);
	CHECK_EQ_U64(p->options.interval_bytes, 65536);
}

TEST(operands_keep_their_order_among_options)
{
	struct parsed *p = parse("a -v b - -q c", GG_OPTIONS_ANYWHERE);

	CHECK(p->count == 4 && p->options.verbose && p->options.quiet);
	CHECK(strcmp(p->words[0], "a") == 0 && strcmp(p->words[1], "b") == 0);
	CHECK(strcmp(p->words[2], "-") == 0 && strcmp(p->words[3], "c") == 0);
}

TEST(after_two_dashes_everything_is_an_operand)
{
	struct parsed *p = parse("-v -- -q --", GG_OPTIONS_ANYWHERE);

	CHECK(p->count == 2 && p->options.verbose && !p->options.quiet);
	CHECK(strcmp(p->words[0], "-q") == 0 && strcmp(p->words[1], "--") == 0);
}

TEST(a_command_line_inside_ours_keeps_its_own_options)
{
	struct parsed *p = parse("-v ls -q --color", GG_OPTIONS_BEFORE_OPERANDS);

	CHECK(p->count == 3 && p->options.verbose && !p->options.quiet);
	CHECK_EQ_STR(p->words[1], "-q");
}

TEST(the_word_that_ends_options_can_stay_among_the_operands)
{
	struct parsed *p = parse("one -v -- -q --", GG_OPTIONS_KEEP_END);

	CHECK(p->count == 4 && p->options.verbose && !p->options.quiet);
	CHECK_EQ_STR(p->words[0], "one");
	CHECK_EQ_STR(p->words[1], "--");
	CHECK_EQ_STR(p->words[2], "-q");
	CHECK_EQ_STR(p->words[3], "--");
}

TEST(the_last_value_wins)
{
	CHECK_EQ_U64(parse("--limit 1 --limit 2", GG_OPTIONS_ANYWHERE)->options.limit, 2);
}

TEST(wrong_options_and_values_are_named)
{
	static const struct {
		const char *line, *place, *message, *advice;
	} cases[] = {
		{ "--verbos", "", "unknown option '--verbos'", "Did you mean '--verbose'?" },
		{ "--intreval=3", "", "unknown option '--intreval'", "Did you mean '--interval'?" },
		{ "--xyz", "", "unknown option '--xyz'", "'--help' lists the options." },
		{ "-vz", "", "unknown option '-z'", "'--help' lists the options." },
		{ "--verbose=1", "--verbose", "'1' is a value, and the option takes none", "" },
		{ "--limit", "--limit", "needs a value: --limit N", "" },
		{ "--limit 3x", "--limit", "'3x' is not a whole number",
		  "Give decimal digits only." },
		{ "--limit -3", "--limit", "'-3' is not a whole number",
		  "Give decimal digits only." },
		{ "--limit 99999999999999999999", "--limit", "'99999999999999999999' is too large",
		  "Give decimal digits only." },
		{ "-i 1x", "--interval", "'1x' is not a size",
		  "Give a size such as 4096, 64k, 512KiB, 1.5M or 2GB." },
		{ "--confidence high", "--confidence", "'high' is not a number",
		  "Give a number such as 0.95." },
		{ "--confidence inf", "--confidence", "'inf' is not a number",
		  "Give a number such as 0.95." },
		{ "--color nev", "--color", "'nev' is not a choice",
		  "Give one of auto|always|never." },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct parsed *p = parse(cases[i].line, GG_OPTIONS_ANYWHERE);

		CHECK_MSG(p->count == -EINVAL, "%s: %d", cases[i].line, p->count);
		CHECK_MSG(strcmp(p->error.place, cases[i].place) == 0, "%s", p->error.place);
		CHECK_MSG(strcmp(p->error.message, cases[i].message) == 0, "%s", p->error.message);
		CHECK_MSG(strcmp(p->error.advice, cases[i].advice) == 0, "%s", p->error.advice);
	}
}

TEST(a_wrong_value_leaves_the_field_alone)
{
	CHECK_EQ_U64(parse("--limit 5 --limit x", GG_OPTIONS_ANYWHERE)->options.limit, 5);
}

static const char *nearest_of(const char *typed)
{
	static const char *const known[] = { "record", "report", "diff", "leaks", "lab" };
	struct gg_suggestion nearest = { 0 };

	for (size_t i = 0; i < GG_COUNT(known); i++)
		gg_suggest(&nearest, typed, known[i]);
	return nearest.name != NULL ? nearest.name : "";
}

TEST(a_mistyped_name_finds_the_nearest)
{
	CHECK_EQ_STR(nearest_of("reprot"), "report");
	CHECK_EQ_STR(nearest_of("recrod"), "record");
	CHECK_EQ_STR(nearest_of("dif"), "diff");
	CHECK_EQ_STR(nearest_of("leak"), "leaks");
	CHECK_EQ_STR(nearest_of("rep"), "report");
	CHECK_EQ_STR(nearest_of("zzzzzz"), "");
	CHECK_EQ_STR(nearest_of("before"), "");
	CHECK_EQ_STR(nearest_of("lamps"), "");
	CHECK_EQ_STR(nearest_of(""), "");
}

TEST(swapped_letters_are_one_mistake)
{
	struct gg_suggestion nearest = { 0 };

	gg_suggest(&nearest, "lasb", "labs");
	CHECK(nearest.name != NULL && nearest.distance == 1);
}

TEST(a_very_long_name_is_compared_safely)
{
	char typed[1000];

	memset(typed, 'r', sizeof(typed) - 1);
	typed[sizeof(typed) - 1] = '\0';
	CHECK_EQ_STR(nearest_of(typed), "");
}

struct shared_options {
	bool first, second;
};

struct outer_options {
	bool own;
	struct shared_options shared;
};

static const struct gg_option shared_table[] = {
	{ "first", 'f', GG_OPTION_FLAG, offsetof(struct shared_options, first), NULL, "one" },
	{ "second", 's', GG_OPTION_FLAG, offsetof(struct shared_options, second), NULL, "two" },
	GG_OPTIONS_END,
};

static const struct gg_option outer_table[] = {
	GG_OPTIONS_SHARED(shared_table, offsetof(struct outer_options, shared)),
	{ "own", 'o', GG_OPTION_FLAG, offsetof(struct outer_options, own), NULL, "three" },
	GG_OPTIONS_SHARED(shared_table, offsetof(struct outer_options, shared)),
	GG_OPTIONS_END,
};

TEST(a_shared_table_stands_where_it_is_included)
{
	static const char *const names[] = { "first", "second", "own", "first", "second" };
	struct gg_option_walk walk;
	size_t at = 0;

	gg_option_walk_begin(&walk, outer_table);
	for (; walk.option != NULL && at < GG_COUNT(names); gg_option_walk_next(&walk))
		CHECK_EQ_STR(walk.option->name, names[at++]);
	CHECK_EQ_U64(at, GG_COUNT(names));
	CHECK(walk.option == NULL);
}

TEST(options_of_a_shared_table_fill_the_inner_struct)
{
	struct outer_options options = { 0 };
	struct gg_option_set set = { outer_table, &options };
	char line[][16] = { "-s", "--own" };
	char *words[] = { line[0], line[1] };

	CHECK_EQ_I64(gg_options_parse(&set, 1, GG_OPTIONS_ANYWHERE, 2, words, NULL), 0);
	CHECK(options.own && options.shared.second && !options.shared.first);
}
