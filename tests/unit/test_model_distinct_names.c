/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_distinct_names - shows which functions count as the same one, and which names they
 * get.
 */
#include <stdlib.h>

#include "made_profile.h"
#include "model/distinct_names.h"
#include "query/query.h"
#include "stats/sampling/rng.h"
#include "test.h"

static struct gg_error error;

/* --- names for one short name --------------------------------------------------------------- */

/* full names, or "full|file", which end in NULL; their names joined by " / ". */
static bool gives(const char *short_name, const char *const *given, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_distinct_name names[16] = { 0 };
	const char *full[16];
	size_t count = 0;

	for (; given[count] != NULL; count++) {
		char *copy = strdup(given[count]), *bar = strrchr(copy, '|');

		if (bar != NULL && bar[-1] != '|') { /* operator|| */
			*bar = '\0';
			names[count].file = bar + 1;
		}
		full[count] = copy;
		names[count].full_name = copy;
		for (size_t i = 0; i < count; i++)
			if (strcmp(full[i], copy) == 0)
				names[count].full_name = full[i];
	}
	CHECK_EQ_I64(gg_distinct_names(short_name, names, count), 0);
	for (size_t i = 0; i < count; i++) {
		gg_buf_printf(&text, "%s%s", i > 0 ? " / " : "", gg_buf_text(&names[i].text));
		gg_buf_done(&names[i].text);
	}
	for (size_t i = 0; i < count; i++)
		free((char *)full[i]);
	return CHECK_MSG(strcmp(gg_buf_text(&text), wanted) == 0, "%s", gg_buf_text(&text));
}

#define GIVES(short_name, wanted, ...) \
	gives(short_name, (const char *const[]){ __VA_ARGS__, NULL }, wanted)

TEST(what_differs_is_shown_and_nothing_else)
{
	GIVES("f", "f", "f(int)");
	GIVES("create<...>", "create<Apple> / create<Pear>", "Apple* create<Apple>()",
	      "Pear* create<Pear>()");
	GIVES("f", "f(int) / f(double)", "f(int)", "f(double)");
	GIVES("A<...>::f<...>", "A<int>::f<...> / A<char>::f<...>", "void A<int>::f<long>(int)",
	      "void A<char>::f<long>(char)");
	GIVES("A<...>::f", "A<int>::f / A<char>::f(int) / A<char>::f(char) const", "A<int>::f(int)",
	      "A<char>::f(int)", "A<char>::f(char) const");
	GIVES("A::operator<<", "A::operator<<(int) / A::operator<<(long)", "A::operator<<(int)",
	      "A::operator<<(long)");
	GIVES("operator<< <...>", "operator<< <int> / operator<< <char>",
	      "void operator<< <int>(A<int>&, int)", "void operator<< <char>(A<char>&, char)");
	GIVES("main::{lambda#1}::operator()",
	      "main::{lambda(int)#1}::operator()(int) const / "
	      "main::{lambda(char)#1}::operator()(char) const",
	      "main::{lambda(int)#1}::operator()(int) const",
	      "main::{lambda(char)#1}::operator()(char) const");
}

TEST(template_arguments_are_as_deep_as_is_needed)
{
	GIVES("f<...>", "f<std::vector<...>> / f<std::map<...>>", "void f<std::vector<int> >()",
	      "void f<std::map<int, int> >()");
	GIVES("f<...>", "f<V<A<...>>> / f<V<B<...>>> / f<W<...>>", "void f<V<A<int> > >()",
	      "void f<V<B<int> > >()", "void f<W<A<int> > >()");
	GIVES("f<...>", "f<A<A<A<A<A<int> > > > > > / f<A<A<A<A<A<char> > > > > >",
	      "void f<A<A<A<A<A<int> > > > > >()", "void f<A<A<A<A<A<char> > > > > >()");
}

TEST(what_is_not_in_the_arguments_takes_the_full_name)
{
	GIVES("f<...>", "int f<int>() / long f<int>()", "int f<int>()", "long f<int>()");
	GIVES("f", "g(int) / h(int)", "g(int)", "h(int)");
	GIVES("a::b::f", "a::b::f::h0123456789abcdef / a::b::f::h0123456789abcde0",
	      "a::b::f::h0123456789abcdef", "a::b::f::h0123456789abcde0");
	GIVES("<a::T<...> as b::Tr>::f::<...>",
	      "<a::T<u8> as b::Tr>::f::<...> / <a::T<u16> as b::Tr>::f::<...>",
	      "<a::T<u8> as b::Tr>::f::<u32>", "<a::T<u16> as b::Tr>::f::<u32>");
}

TEST(functions_of_one_full_name_are_told_apart_by_their_files)
{
	GIVES("f", "f [a.c] / f [b.c]", "f|x/a.c", "f|x/b.c");
	GIVES("f", "f [x/a.c] / f [y/a.c]", "f|x/a.c", "f|y/a.c");
	GIVES("f", "f / f [b.c]", "f", "f|b.c");
	GIVES("f", "f(int) [a.c] / f(int) [b.c] / f(char)", "f(int)|a.c", "f(int)|b.c",
	      "f(char)|a.c");
}

/* Random types, three deep at most. */
static void append_type(struct gg_rng *rng, struct gg_buf *out, unsigned depth)
{
	static const char *const words[] = { "int", "char const*",  "A", "ns::B", "std::vector",
		                             "C",   "void (*)(int)" };

	gg_buf_append_text(out, words[gg_rng_below(rng, GG_COUNT(words))]);
	if (depth == 0 || gg_rng_below(rng, 2) == 0)
		return;
	gg_buf_append_text(out, "<");
	append_type(rng, out, depth - 1);
	if (gg_rng_below(rng, 3) == 0) {
		gg_buf_append_text(out, ", ");
		append_type(rng, out, depth - 1);
	}
	gg_buf_append_text(out, out->data[out->length - 1] == '>' ? " >" : ">");
}

TEST(many_names_stay_different_and_no_longer_than_the_full_ones)
{
	enum { COUNT = 400 };
	static struct gg_distinct_name names[COUNT];
	static struct gg_buf full[COUNT];
	struct gg_rng rng;
	size_t count = 0;

	gg_rng_seed(&rng, 19, 0);
	for (size_t i = 0; i < COUNT; i++) {
		bool is_new = true;

		gg_buf_clear(&full[count]);
		append_type(&rng, &full[count], 1);
		gg_buf_append_text(&full[count], "* ns::f<");
		append_type(&rng, &full[count], 3);
		gg_buf_append_text(&full[count], ">(");
		append_type(&rng, &full[count], 2);
		gg_buf_append_text(&full[count], ")");
		for (size_t k = 0; k < count; k++)
			is_new &= strcmp(full[k].data, full[count].data) != 0;
		names[count].full_name = full[count].data;
		count += is_new;
	}
	CHECK(count > COUNT / 2);
	CHECK_EQ_I64(gg_distinct_names("ns::f<...>", names, count), 0);
	for (size_t i = 0; i < count; i++) {
		CHECK(names[i].text.length <= full[i].length);
		for (size_t k = 0; k < i; k++)
			CHECK_MSG(strcmp(gg_buf_text(&names[i].text),
			                 gg_buf_text(&names[k].text)) != 0,
			          "%s: %s, %s", gg_buf_text(&names[i].text), full[i].data,
			          full[k].data);
	}
	for (size_t i = 0; i < COUNT; i++) {
		gg_buf_done(&names[i].text);
		gg_buf_done(&full[i]);
	}
}

/* --- which functions are one ----------------------------------------------------------------- */

struct given {
	const char *name, *full_name, *linkage_name, *file;
	unsigned line;
};

static void add(struct made_profile *made, uint32_t module, const struct given *given)
{
	static uint64_t address = 0x100;
	const struct gg_profile_line line = { .function = given->name,
		                              .full_name = given->full_name,
		                              .linkage_name = given->linkage_name,
		                              .file = given->file,
		                              .line = given->line };
	uint32_t frame, stack;

	CHECK_EQ_I64(gg_profile_intern_frame(made->profile, module, ++address, &frame, &error), 0);
	CHECK_EQ_I64(gg_profile_put_lines(made->profile, frame, &line, 1, &error), 0);
	CHECK_EQ_I64(gg_profile_intern_stack(made->profile, 0, frame, &stack, &error), 0);
	made_sample(made, stack, 1, 1, GG_TIME_NONE);
}

static struct gg_model *load(const struct given *given, size_t count)
{
	struct gg_model *model = NULL;
	struct made_profile made;
	uint32_t module;

	made_begin(&made, NULL, 1, 1);
	module = made_module(&made, "/usr/bin/made");
	for (size_t i = 0; i < count; i++)
		add(&made, module, &given[i]);
	CHECK_EQ_I64(gg_model_load(&model, &made.profile, 1, NULL, &error), 0);
	gg_profile_close(made.profile);
	return model;
}

/* "samples label", the order being that of the names, joined by " / ". */
static bool asks(const struct gg_model *model, enum gg_grouping by, const char *focus,
                 const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_query_result *result;
	struct gg_query query;

	gg_query_init(&query);
	query.by = by;
	query.focus = focus;
	if (!CHECK_EQ_I64(gg_query_rows(model, &query, &result, &error), 0))
		return false;
	for (size_t i = 0; i < result->row_count; i++) {
		gg_buf_printf(&text, "%s%g ", i > 0 ? " / " : "",
		              gg_tally_estimate(result->rows[i].self, GG_BYTES).value);
		gg_query_row_label(model, result, &result->rows[i], &text);
	}
	gg_query_result_free(result);
	return CHECK_MSG(strcmp(gg_buf_text(&text), wanted) == 0, "%s", gg_buf_text(&text));
}

static bool is_loaded(const struct given *given, size_t count, const char *wanted)
{
	struct gg_model *model = load(given, count);
	bool is = asks(model, GG_BY_FUNCTION, NULL, wanted);

	gg_model_free(model);
	return is;
}

#define LOADED(wanted, ...)                              \
	is_loaded((const struct given[]){ __VA_ARGS__ }, \
	          sizeof((const struct given[]){ __VA_ARGS__ }) / sizeof(struct given), wanted)

TEST(instances_of_a_template_are_rows_of_their_own)
{
	static const struct given fruits[] = {
		{ "create<...>", "Apple* create<Apple>()", "_Z6createI5AppleEPT_v", "t.cc", 4 },
		{ "create<...>", "Apple* create<Apple>()", "_Z6createI5AppleEPT_v", "t.cc", 5 },
		{ "create<...>", "Pear* create<Pear>()", "_Z6createI4PearEPT_v", "t.cc", 4 },
	};
	struct gg_model *model = load(fruits, 3);
	struct gg_model_name_options full = { .full_names = true };

	asks(model, GG_BY_FUNCTION, NULL, "2 create<Apple> (made) / 1 create<Pear> (made)");
	asks(model, GG_BY_STACK, NULL, "1 create<Apple> / 1 create<Apple> / 1 create<Pear>");
	asks(model, GG_BY_FUNCTION, "create<Pear>", "1 create<Pear> (made)");
	asks(model, GG_BY_FUNCTION, "^create<Pear>$", "1 create<Pear> (made)");
	asks(model, GG_BY_FUNCTION, "^create<[.]+>$",
	     "2 create<Apple> (made) / 1 create<Pear> (made)");
	CHECK_EQ_I64(gg_model_name_functions(&model, 1, &full, &error), 0);
	asks(model, GG_BY_FUNCTION, NULL,
	     "2 Apple* create<Apple>() (made) / 1 Pear* create<Pear>() (made)");
	gg_model_free(model);
	LOADED("1 create<...> (made)",
	       { "create<...>", "Pear* create<Pear>()", "_Z6createI4PearEPT_v", "t.cc", 4 });
}

TEST(copies_that_the_compiler_made_are_the_function)
{
	LOADED("3 f (made)", { "f", "f", NULL, "a.c", 1 }, { "f", "f.part.0", NULL, NULL, 0 },
	       { "f", "f.cold", NULL, NULL, 0 });
	LOADED("3 f (made)", { "f", "f(int)", "_Z1fi", "a.cc", 1 },
	       { "f", "f(int) [clone .isra.0]", "_Z1fi.isra.0", NULL, 0 },
	       { "f", "f(int) [clone .part.0] [clone .cold]", "_Z1fi.part.0.cold", NULL, 0 });
	LOADED("2 memcpy (made)", { "memcpy", "memcpy@@GLIBC_2.14", NULL, NULL, 0 },
	       { "memcpy", "memcpy", NULL, NULL, 0 });
}

TEST(a_function_that_no_linker_sees_is_its_file_s)
{
	LOADED("2 f [b.c] (made) / 1 f [a.c] (made)", { "f", "f", NULL, "x/a.c", 1 },
	       { "f", "f", NULL, "x/b.c", 1 }, { "f", "f", NULL, "x/b.c", 2 });
	LOADED("1 f [a.cc] (made) / 1 f [b.cc] (made)", { "f", "f(int)", "_ZL1fi", "a.cc", 1 },
	       { "f", "f(int)", "_ZL1fi", "b.cc", 1 });
	/* One that it sees may have lines in many; so may one that a generator wrote. */
	LOADED("2 f (made)", { "f", "f(int)", "_Z1fi", "a.cc", 1 },
	       { "f", "f(int)", "_Z1fi", "b.cc", 1 });
	LOADED("4 yyparse (made)", { "yyparse", "yyparse", NULL, "parse.c", 1 },
	       { "yyparse", "yyparse", NULL, "parse.y", 1 },
	       { "yyparse", "yyparse", NULL, "tokens.h", 1 },
	       { "yyparse", "yyparse", NULL, NULL, 0 });
}

TEST(a_name_without_arguments_is_that_of_the_only_one_with_them)
{
	LOADED("2 a::f (made)", { "a::f", "a::f(int)", "_ZN1a1fEi", "a.cc", 1 },
	       { "a::f", "a::f", NULL, "a.h", 1 });
	LOADED("1 a::f(int) (made) / 1 a::f(char) (made) / 1 a::f (made)",
	       { "a::f", "a::f(int)", "_ZN1a1fEi", "a.cc", 1 },
	       { "a::f", "a::f(char)", "_ZN1a1fEc", "a.cc", 1 },
	       { "a::f", "a::f", NULL, "a.h", 1 });
	LOADED("2 A<int>::f (made) / 1 A<char>::f (made)",
	       { "A<...>::f", "A<int>::f(int)", "_ZN1AIiE1fEi", "a.cc", 1 },
	       { "A<...>::f", "A<char>::f(int)", "_ZN1AIcE1fEi", "a.cc", 1 },
	       { "A<...>::f", "A<int>::f", NULL, "a.h", 1 });
	/* extern "C" beside an overload */
	LOADED("1 f(int) (made) / 1 f (made)", { "f", "f(int)", "_Z1fi", "a.cc", 1 },
	       { "f", "f", NULL, "a.h", 1 });
}

TEST(lines_of_one_function_stay_one_when_its_copies_are_put_together)
{
	static const struct given copies[] = {
		{ "f", "f", NULL, "a.c", 7 },
		{ "f", "f.part.0", NULL, "a.c", 7 },
		{ "f", "f.part.0", NULL, "a.c", 8 },
		{ "g", "g", NULL, "a.c", 7 },
	};
	struct gg_model *model = load(copies, 4);

	asks(model, GG_BY_LINE, NULL, "2 a.c:7 f / 1 a.c:8 f / 1 a.c:7 g");
	gg_model_free(model);
}

TEST(models_of_two_builds_get_names_that_are_equal_for_equal_functions)
{
	static const struct given before[] = {
		{ "create<...>", "Pear* create<Pear>()", "_Z6createI4PearEPT_v", "t.cc", 4 },
		{ "a::f", "a::f::h0123456789abcdef", "_ZN1a1f17h0123456789abcdefE", "t.rs", 1 },
		{ "helper", "helper", NULL, "/build/1/a.c", 1 },
	};
	static const struct given after[] = {
		{ "create<...>", "Apple* create<Apple>()", "_Z6createI5AppleEPT_v", "t.cc", 4 },
		{ "a::f", "a::f::h00112233445566aa", "_ZN1a1f17h00112233445566aaE", "t.rs", 1 },
		{ "helper", "helper", NULL, "/build/2/a.c", 1 },
		{ "helper", "helper", NULL, "/build/2/b.c", 1 },
	};
	struct gg_model *models[] = { load(before, 3), load(after, 4) };
	struct gg_model_name_options options = { .across_builds = true };

	asks(models[0], GG_BY_FUNCTION, NULL,
	     "1 create<...> (made) / 1 a::f (made) / 1 helper (made)");
	CHECK_EQ_I64(gg_model_name_functions(models, 2, &options, &error), 0);
	asks(models[0], GG_BY_FUNCTION, NULL,
	     "1 create<Pear> (made) / 1 a::f (made) / 1 helper [a.c] (made)");
	asks(models[1], GG_BY_FUNCTION, NULL,
	     "1 create<Apple> (made) / 1 a::f (made) / 1 helper [a.c] (made) / "
	     "1 helper [b.c] (made)");
	gg_model_free(models[0]);
	gg_model_free(models[1]);
}

/* --- names that are kept ------------------------------------------------------------------- */

/* "f<aaa...aXaaa...a>(int)", of many megabytes. */
static char *long_name(char middle)
{
	enum { BYTES = 3 << 20 };
	char *name = malloc(BYTES + 1);

	memset(name, 'a', BYTES);
	memcpy(name, "f<", 2);
	memcpy(name + BYTES - 6, ">(int)", 7);
	name[BYTES / 2] = middle;
	return name;
}

TEST(names_of_megabytes_are_cut_and_stay_different)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf room = { 0 };
	char *first = long_name('x'), *second = long_name('y');
	const struct given longs[] = {
		{ "f<...>", first, "_Z1fx", "a.cc", 1 },
		{ "f<...>", second, "_Z1fy", "a.cc", 1 },
		{ "f<...>", second, "_Z1fy", "a.cc", 2 },
	};
	struct gg_model *model = load(longs, 3);
	struct gg_model_function function;
	const char *cut;

	CHECK_EQ_U64(model->function_count, 3);
	for (uint32_t i = 1; i < 3; i++) {
		function = model->functions[i];
		CHECK(strlen(function.full_name) <= GG_PROFILE_NAME_MAX);
		CHECK(strlen(function.name) <= GG_PROFILE_NAME_MAX);
		CHECK_EQ_I64(strncmp(function.full_name, "f<aaa", 5), 0);
		CHECK_EQ_STR(function.full_name + strlen(function.full_name) - 6, ">(int)");
	}
	CHECK(strcmp(model->functions[1].name, model->functions[2].name) != 0);
	/* Cut once: what was cut is short enough. */
	cut = gg_profile_bounded_name(first, &room);
	CHECK_EQ_PTR(cut, gg_buf_text(&room));
	CHECK_EQ_PTR(gg_profile_bounded_name(cut, &(struct gg_buf){ 0 }), cut);
	CHECK(gg_profile_bounded_name(NULL, &room) == NULL);
	gg_model_free(model);
	free(first);
	free(second);
}
