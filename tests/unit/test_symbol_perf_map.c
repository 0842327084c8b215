/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_perf_map - reads perf maps as compilers leave them, also of processes that died.
 *
 * A process may die while it writes its map.
 */
#include "symbol/resolve/perf_map.h"

#include "test.h"

static void parse(struct gg_perf_map *map, const char *text)
{
	struct gg_buf bytes = { 0 };

	gg_buf_append_text(&bytes, text);
	CHECK_EQ_I64(gg_perf_map_parse(map, &bytes), 0);
	CHECK(bytes.data == NULL);
}

/* The name at pc in a map of this text is this; NULL: none. */
static void expect(const char *text, uint64_t pc, const char *wanted)
{
	struct gg_perf_map map;
	const char *name;

	parse(&map, text);
	name = gg_perf_map_find(&map, pc);
	CHECK_MSG(wanted == NULL ? name == NULL : name != NULL && strcmp(name, wanted) == 0,
	          "'%s' at %#lx is '%s', not '%s'", text, (unsigned long)pc,
	          name != NULL ? name : "-", wanted != NULL ? wanted : "-");
	gg_perf_map_done(&map);
}

TEST(a_line_names_the_pcs_from_its_start_for_its_size)
{
	static const char text[] = "1000 10 f\n1010 20 a name, with blanks\n";

	expect(text, 0xfff, NULL);
	expect(text, 0x1000, "f");
	expect(text, 0x100f, "f");
	expect(text, 0x1010, "a name, with blanks");
	expect(text, 0x102f, "a name, with blanks");
	expect(text, 0x1030, NULL);
	expect("0x1000 0X10 f\r\n", 0x1001, "f");
	expect("7FFFABCD 1 f\n", 0x7fffabcd, "f");
}

TEST(a_later_line_wins_where_it_overlaps)
{
	static const char text[] = "1000 100 old\n1080 10 new\n1000 8 newest\n";

	expect(text, 0x1004, "newest");
	expect(text, 0x1010, "old");
	expect(text, 0x1084, "new");
	expect(text, 0x1090, "old");
	expect("1080 10 inner\n1000 100 all of it\n", 0x1084, "all of it");
	expect("1000 10 a\n1000 10 b\n", 0x1000, "b");
}

TEST(lines_that_make_no_sense_are_left_out)
{
	expect("\n\nx\n1000\n1000 10\n1000 10 \n1000 0 f\n-5 10 g\n1000 zz h\n1000 10 f\n", 0x1000,
	       "f");
	expect("ffffffffffffffff 10 beyond the end\n", UINT64_MAX, NULL);
	expect("11112222333344445 10 too long a number\n", 0x1111222233334444, NULL);
	expect("1000 10 cut", 0x1000, NULL);
	expect("", 0, NULL);
}
