/* SPDX-License-Identifier: Apache-2.0 */
/* test_compat_ctl_names - shows that mallctl()'s names and their numbers lead to each other. */
#include "compat/jemalloc/ctl_names.h"

#include "abi/sample_history.h"
#include "base/compiler.h"
#include "compat/jemalloc/ctl_table.h"
#include "test.h"

static size_t three(void)
{
	return 3;
}

static size_t none(void)
{
	return 0;
}

static const struct gg_ctl_name entries[] = {
	{ "a", NULL },        { "b.c", NULL },       { "b.c_d", NULL },
	{ "b.d", NULL },      { "e.*.live", three }, { "e.*.old", three },
	{ "e.*.zoo", three }, { "f.*", none },       { "g.h.i.j", NULL },
};
static const struct gg_ctl_names names = { entries, GG_COUNT(entries), sizeof(entries[0]) };

static int find(const char *name, size_t *mib, size_t *depth)
{
	bool is_known;
	int entry = gg_ctl_names_find(&names, name, mib, depth, &is_known);

	/* 100: it only begins a name. */
	return entry >= 0 ? entry : is_known ? 100 : -1;
}

TEST(each_name_is_found_and_its_numbers_lead_back_to_it)
{
	static const char *const whole[] = { "a",       "b.c",     "b.c_d", "b.d",    "e.0.live",
		                             "e.2.old", "e.1.zoo", NULL,    "g.h.i.j" };

	for (size_t i = 0; i < GG_COUNT(whole); i++) {
		size_t mib[GG_CTL_NAMES_DEPTH] = { 0 }, depth = GG_CTL_NAMES_DEPTH;

		if (whole[i] == NULL)
			continue;
		CHECK_MSG(find(whole[i], mib, &depth) == (int)i, "%s", whole[i]);
		CHECK_MSG(gg_ctl_names_of(&names, mib, depth) == (int)i, "%s", whole[i]);
		CHECK(mib[0] >= GG_CTL_NAMES_TAG && mib[0] < GG_CTL_NAMES_TAG + GG_COUNT(entries));
	}
}

TEST(what_is_no_name_is_not_found)
{
	static const char *const wrong[] = {
		"",         ".",        "b.",        "b..c",
		"b.c.",     "A",        "aa",        "b.e",
		"e.3.live", "e.x.live", "e.-1.live", "e..live",
		"f.0",      "a.b",      "g.h.i.k",   "e.18446744073709551616.live",
		"*",        "e.*.live"
	};

	for (size_t i = 0; i < GG_COUNT(wrong); i++) {
		size_t mib[GG_CTL_NAMES_DEPTH], depth = GG_CTL_NAMES_DEPTH;

		CHECK_MSG(find(wrong[i], mib, &depth) == -1, "%s", wrong[i]);
	}
}

TEST(a_name_that_is_cut_has_numbers_to_go_on_from)
{
	size_t mib[GG_CTL_NAMES_DEPTH], depth = 1;

	CHECK(find("b", mib, &depth) == 100 && depth == 1);
	depth = 2;
	CHECK(find("e.1.old", mib, &depth) == 100 && depth == 2 && mib[1] == 1);
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, 2), GG_CTL_NAMES_NONE);
	depth = 0;
	CHECK(find("b.c", mib, &depth) == 100 && depth == 0);
	depth = GG_CTL_NAMES_DEPTH;
	CHECK(find("g.h", mib, &depth) == 100 && depth == 2);
}

TEST(a_number_can_be_exchanged_and_others_lead_nowhere)
{
	size_t mib[GG_CTL_NAMES_DEPTH], depth = GG_CTL_NAMES_DEPTH;

	CHECK(find("e.0.old", mib, &depth) == 5 && depth == 3);
	mib[1] = 2;
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, depth), 5);
	mib[1] = 3;
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, depth), GG_CTL_NAMES_NONE);
	mib[1] = 0;
	mib[2] += 1;
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, depth), 6);
	mib[2] += 1;
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, depth), GG_CTL_NAMES_NONE);
	mib[0] = 3;
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, depth), GG_CTL_NAMES_NONE);
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, 0), GG_CTL_NAMES_NONE);
	mib[0] = SIZE_MAX;
	CHECK_EQ_I64(gg_ctl_names_of(&names, mib, 1), GG_CTL_NAMES_NONE);
}

TEST(the_names_of_mallctl_are_sorted_and_none_is_there_twice)
{
	for (size_t i = 1; i < gg_ctl_table_names.count; i++)
		CHECK_MSG(strcmp(gg_ctl_table_at((int)i - 1)->name.name,
		                 gg_ctl_table_at((int)i)->name.name) < 0,
		          "%s", gg_ctl_table_at((int)i)->name.name);
	for (size_t i = 0; i < gg_ctl_table_names.count; i++) {
		size_t mib[GG_CTL_NAMES_DEPTH], depth = GG_CTL_NAMES_DEPTH;
		const struct gg_ctl_entry *row = gg_ctl_table_at((int)i);
		bool is_known;

		CHECK_EQ_I64(strchr(row->name.name, '*') != NULL, row->name.count != NULL);
		if (row->name.count != NULL)
			continue;
		CHECK_EQ_I64(gg_ctl_names_find(&gg_ctl_table_names, row->name.name, mib, &depth,
		                               &is_known),
		             (int)i);
		CHECK_EQ_I64(gg_ctl_names_of(&gg_ctl_table_names, mib, depth), (int)i);
	}
}

/* Sizes that jemalloc 5.3 lists as arenas.bin.I.size and arenas.lextent.I.size. */
TEST(size_classes_are_those_of_jemalloc)
{
	static const struct {
		uint64_t bytes;
		uint32_t class;
	} rows[] = {
		{ 0, 0 },
		{ 1, 0 },
		{ 8, 0 },
		{ 9, 1 },
		{ 16, 1 },
		{ 17, 2 },
		{ 128, 8 },
		{ 129, 9 },
		{ 160, 9 },
		{ 161, 10 },
		{ 256, 12 },
		{ 257, 13 },
		{ 320, 13 },
		{ 1024, 20 },
		{ 12288, 34 },
		{ 14336, 35 },
		{ 14337, 36 },
		{ 16384, 36 },
		{ 20480, 37 },
		{ UINT64_C(1) << 20, 60 },
		{ (UINT64_C(1) << 20) + 1, 61 },
		{ UINT64_C(7) << 60, 231 },
		{ UINT64_MAX, 231 },
	};

	for (size_t i = 0; i < GG_COUNT(rows); i++)
		CHECK_MSG(gg_history_class(rows[i].bytes) == rows[i].class, "%llu: %u",
		          (unsigned long long)rows[i].bytes, gg_history_class(rows[i].bytes));
}
