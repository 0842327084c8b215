/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_import - runs the importers of text formats and of .heapprofile on small files.
 *
 * The files are whole, wrong or truncated.
 */
#include "format/import/import.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "import_support.h"
#include "stats/estimate/tally.h"
#include "test.h"

static bool is_refused(const char *text, const char *place, const char *message)
{
	struct gg_profile *profile = import_test_text(text);

	if (!CHECK_MSG(profile == NULL, "it was taken: %s", text)) {
		gg_profile_close(profile);
		return false;
	}
	return CHECK_MSG(strcmp(import_error.place, place) == 0 &&
	                         strstr(import_error.message, message) != NULL,
	                 "'%s': '%s'", import_error.place, import_error.message);
}

/* --- jemalloc ------------------------------------------------------------------------------ */

#define MAPS "\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00001000 08:01 7 /bin/app\n"

static const char dump[] = "heap_v2/1000\n"
			   "  t*: 5: 161 [7: 225]\n"
			   "  t1: 3: 96 [4: 128] worker\n"
			   "@ 0x401011 0x402021\n"
			   "  t*: 3: 96 [4: 128]\n"
			   "  t1: 2: 64 [3: 96]\n"
			   "  t2: 1: 32 [1: 32]\n"
			   "@ 0x401051\n"
			   "  t*: 2: 65 [3: 97]\n"
			   "  t2: 2: 65 [3: 97]\n" MAPS;

TEST(rows_of_jemalloc_are_scaled_one_by_one)
{
	struct gg_profile *profile = import_test_text(dump);
	struct imported_sums sums;

	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	sums = imported_sums_of(profile);
	CHECK_MSG(is_near(sums.live, scaled(3, 96, 1000) + scaled(2, 65, 1000)), "%g", sums.live);
	CHECK(is_near(sums.allocated, scaled(4, 128, 1000) + scaled(3, 97, 1000)));
	CHECK(sums.unknown_errors == 0 && sums.live_variance > 0);
	CHECK(import_result.interval_bytes == 1000 &&
	      strcmp(import_result.command, "/bin/app") == 0);
	gg_profile_close(profile);
}

static int see_thread(const struct gg_profile_thread *thread, void *context)
{
	int *seen = context;

	*seen += thread->tid == 1 && strcmp(thread->name, "worker") == 0;
	*seen += 10 * (thread->tid == 2 && strcmp(thread->name, "t2") == 0);
	return 0;
}

static int see_frame(const struct gg_profile_frame *frame, void *context)
{
	int *seen = context;

	/* The call is before the return address; the mapping begins at 0x1000 in the file. */
	*seen += frame->module == 1 && frame->address == 0x401010 - 0x400000 + 0x1000;
	return 0;
}

TEST(frames_are_in_their_modules_and_threads_have_their_names)
{
	struct gg_profile *profile = import_test_text(dump);
	int seen = 0;

	CHECK(gg_profile_each_thread(profile, see_thread, &seen, &import_error) == 0 && seen == 11);
	seen = 0;
	CHECK(gg_profile_each_frame(profile, see_frame, &seen, &import_error) == 0 && seen == 1);
	gg_profile_close(profile);
}

static int see_note(const char *text, void *context)
{
	bool *seen = context;

	*seen |= strstr(text, "plain sums") != NULL;
	return 0;
}

static bool has_plain_note(const char *text)
{
	struct gg_profile *profile = import_test_text(text);
	bool seen = false;

	CHECK(profile != NULL &&
	      gg_profile_each_note(profile, see_note, &seen, &import_error) == 0);
	gg_profile_close(profile);
	return seen;
}

TEST(dumps_whose_rows_were_added_up_before_they_were_scaled_are_told)
{
	CHECK(has_plain_note("heap_v2/1000\n  t*: 6: 224 [0: 0]\n@ 0x401011\n"
	                     "  t*: 3: 112 [0: 0]\n@ 0x401021\n  t*: 3: 112 [0: 0]\n" MAPS));
	/* Its rows do not add up to its head: jemalloc has scaled each sample. */
	CHECK(!has_plain_note("heap_v2/1000\n  t*: 5: 216 [0: 0]\n@ 0x401011\n"
	                      "  t*: 3: 112 [0: 0]\n@ 0x401021\n  t*: 3: 112 [0: 0]\n" MAPS));
	CHECK(!has_plain_note(dump));
}

TEST(a_jemalloc_dump_that_is_wrong_or_cut_is_refused_with_its_offset)
{
	is_refused("heap_v2/x\n", "file: offset 0", "sampling interval");
	is_refused("heap_v2/10\n  t*: 1: 1 [0: 0]\n@ 0x1 zz\n", "file: offset 29", "no address");
	is_refused("heap_v2/10\n  t*: 1: 1 [0: 0]\n@ 0x1\n  t*: 1: 99999999999999999999 [0: 0]\n",
	           "file: offset 35", "OBJECTS");
	for (size_t i = 8; i < strlen(dump) - strlen(MAPS) + 17; i++) {
		struct gg_profile *profile = import_test_file(dump, i, NULL);

		if (!CHECK_MSG(profile == NULL, "cut at %zu it was taken", i))
			gg_profile_close(profile);
	}
}

/* --- other texts --------------------------------------------------------------------------- */

TEST(gperftools_counts_exactly_or_samples_as_its_type_says)
{
	static const char rows[] = "   3: 96 [ 4: 128] @ 0x401011 0x402021\n" MAPS;
	static const struct {
		const char *type;
		double interval_bytes;
	} types[] = { { "heapprofile", 1 },
		      { "heap_v2/1000", 1000 },
		      { "heap/2000", 1000 },
		      { "heap_v2/1", 1 } };

	for (size_t i = 0; i < GG_COUNT(types); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
		struct gg_profile *profile;
		struct imported_sums sums;
		double wanted = types[i].interval_bytes > 1 ? scaled(3, 96, types[i].interval_bytes)
		                                            : 96;

		gg_buf_printf(&text, "heap profile: 3: 96 [ 4: 128] @ %s\n%s", types[i].type, rows);
		profile = import_test_text(gg_buf_text(&text));
		if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
			continue;
		sums = imported_sums_of(profile);
		CHECK_MSG(is_near(sums.live, wanted), "%s: %g", types[i].type, sums.live);
		CHECK(import_result.interval_bytes == types[i].interval_bytes &&
		      sums.unknown_errors == 0);
		CHECK_EQ_I64(sums.live_variance > 0, types[i].interval_bytes > 1);
		gg_profile_close(profile);
	}
	is_refused("heap profile: 3: 96 [ 4: 128] @ growing\n", "file: offset 0", "not known");
	is_refused("heap profile: 3: 96 [ 4: 128] @ heap_v2/0\n", "file: offset 0", "interval");
	is_refused("heap profile: 3: 96 [ 4: 128] @ heapprofile\n 3: 96 [ 4: 128] @ 0x1\n",
	           "file: offset 67", "truncated");
}

static int find_note(const char *note, void *context)
{
	struct {
		const char *wanted;
		int count;
	} *of = context;

	of->count += strstr(note, of->wanted) != NULL;
	return 0;
}

static int notes_with(struct gg_profile *profile, const char *wanted)
{
	struct {
		const char *wanted;
		int count;
	} of = { wanted, 0 };

	CHECK_EQ_I64(gg_profile_each_note(profile, find_note, &of, &import_error), 0);
	return of.count;
}

TEST(a_gperftools_file_that_warns_is_read_and_its_warning_noted)
{
	struct gg_profile *profile = import_test_text("%warn\n%warn This heap was not sampled.\n"
	                                              "heap profile: 1: 9 [ 1: 9] @ heapprofile\n"
	                                              "  1: 9 [ 1: 9] @ 0x401011\n" MAPS);

	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	CHECK_EQ_DOUBLE(imported_sums_of(profile).live, 9);
	CHECK_EQ_I64(notes_with(profile, "The file warns: This heap was not sampled."), 1);
	CHECK_EQ_I64(notes_with(profile, "The file warns:"), 1); /* not the empty line */
	gg_profile_close(profile);
	is_refused("%warn and nothing else\nmain 5\n", "file: offset 0", "");
}

TEST(a_gperftools_head_that_its_rows_do_not_add_up_to_is_noted)
{
	static const struct {
		const char *head, *rows;
		int cut, live_only;
	} cases[] = {
		{ "3: 96 [ 3: 96]", "3: 96 [ 3: 96]", 0, 1 },
		{ "3: 96 [ 4: 128]", "3: 96 [ 4: 128]", 0, 0 },
		{ "3: 96 [ 4: 128]", "2: 64 [ 2: 64]", 1, 0 },
		{ "4: 97 [ 4: 97]", "3: 96 [ 3: 96]", 1, 1 },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
		struct gg_profile *profile;

		gg_buf_printf(&text, "heap profile: %s @ heapprofile\n  %s @ 0x401011\n%s",
		              cases[i].head, cases[i].rows, MAPS);
		profile = import_test_text(gg_buf_text(&text));
		if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
			continue;
		CHECK_MSG(notes_with(profile, "its rows add up to") == cases[i].cut, "%zu", i);
		CHECK_MSG(notes_with(profile, "Allocated memory equals live memory") ==
		                  cases[i].live_only,
		          "%zu", i);
		gg_profile_close(profile);
	}
}

static int list_line(const struct gg_profile_line *line, void *context)
{
	struct gg_buf *seen = context;

	gg_buf_printf(seen, "%s %s:%u %d,", line->function, line->file != NULL ? line->file : "-",
	              line->line, line->inlined);
	return 0;
}

/*
 * One stack twice, with two sizes, as Go writes it.  The second one has an inlined call, and no
 * name for 0x30.
 */
TEST(names_in_text_profiles_of_go_are_read)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf seen = { 0 };
	struct gg_profile *profile = import_test_text(
		"heap profile: 3: 48 [3: 48] @ heap/2\n"
		"1: 16 [1: 16] @ 0x11 0x21\n"
		"#\t0x10\tmain.grow+0x108\t/src/main.go:7\n"
		"#\t0x20\tmain.(*T[...]).Add+0x1\t/src/t.go:9\n"
		"\n"
		"1: 16 [1: 16] @ 0x11\n"
		"#\t0x10\tmain.grow+0x108\t/src/main.go:7\n"
		"\n"
		"1: 16 [1: 16] @ 0x31 0x41\n"
		"#\t0x30\n"
		"#\t0x40\tmain.inner+0x5\t/src/a b.go:1\n"
		"#\t0x40\tmain.outer+0x9\t/src/a b.go:2\n"
		"#\t0x999\tmain.nowhere+0x9\t/src/x.go:2\n"
		"\n# runtime.MemStats\n# Alloc = 5\n");

	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	CHECK_EQ_DOUBLE(imported_sums_of(profile).live, 48);
	CHECK_EQ_I64(gg_profile_each_line(profile, list_line, &seen, &import_error), 0);
	CHECK_MSG(strcmp(gg_buf_text(&seen),
	                 "main.(*T[...]).Add /src/t.go:9 0,main.grow /src/main.go:7 0,"
	                 "main.inner /src/a b.go:1 1,main.outer /src/a b.go:2 0,") == 0,
	          "%s", gg_buf_text(&seen));
	gg_profile_close(profile);
}

TEST(equal_stacks_of_a_file_are_one_row)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_profile *profile;
	struct imported_sums sums;

	for (int i = 0; i < 5000; i++)
		gg_buf_append_text(&text, "main;grow 10\nmain 1\n");
	profile = import_test_text(gg_buf_text(&text));
	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	sums = imported_sums_of(profile);
	CHECK_MSG(sums.rows == 2 && sums.live == 55000, "%llu rows, %g",
	          (unsigned long long)sums.rows, sums.live);
	CHECK_EQ_U64(import_result.row_count, 10000);
	gg_profile_close(profile);
}

/* Each format may have a stack more than once.  The rows add up, and none replaces another one. */
TEST(rows_of_one_stack_add_up_in_every_format)
{
	static const struct {
		const char *text;
		double live;
	} cases[] = {
		{ "main;grow 10\nmain 1\nmain;grow 5\n", 16 },
		{ "heap profile: 3: 30 [ 3: 30] @ heapprofile\n  1: 10 [ 1: 10] @ 0x401011\n"
		  "  2: 20 [ 2: 20] @ 0x401011\n" MAPS,
		  30 },
		{ "heap_v2/1\n  t*: 3: 300 [0: 0]\n@ 0x401011\n  t*: 1: 100 [0: 0]\n"
		  "  t1: 1: 100 [0: 0]\n@ 0x401011\n  t*: 2: 200 [0: 0]\n  t1: 2: 200 [0: 0]\n" MAPS,
		  300 },
		{ "v 10400 3\ns 4 main\ni 1000 0 1\nt 1 0\nt 1 0\na 10 1\na 20 1\na 10 2\n"
		  "+ 0\n+ 1\n+ 2\n",
		  64 },
		{ "{\"head\":{\"callFrame\":{\"functionName\":\"(root)\"},\"selfSize\":0,\"children\":["
		  "{\"callFrame\":{\"functionName\":\"f\"},\"selfSize\":10,\"children\":[]},"
		  "{\"callFrame\":{\"functionName\":\"f\"},\"selfSize\":20,\"children\":[]}]}}",
		  30 },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct gg_profile *profile = import_test_text(cases[i].text);
		struct imported_sums sums;

		if (!CHECK_MSG(profile != NULL, "%zu: %s: %s", i, import_error.place,
		               import_error.message))
			continue;
		sums = imported_sums_of(profile);
		CHECK_MSG(sums.live == cases[i].live, "%zu: %g is not %g", i, sums.live,
		          cases[i].live);
		gg_profile_close(profile);
	}
}

TEST(a_name_of_more_than_a_mebibyte_is_refused)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(&text, "main 1\n");
	for (int i = 0; i < 1 << 20; i++)
		gg_buf_append_text(&text, "n");
	gg_buf_append_text(&text, "n 1\n");
	is_refused(gg_buf_text(&text), "file: offset 7", "1 MiB");
}

TEST(collapsed_stacks_have_numbers_without_an_error)
{
	static const char text[] = "main;parse;grow 65536\n# a remark\nmain;free it 12\n\nmain 7\n";
	const struct gg_import_options allocated = { .is_allocated = true };
	struct gg_profile *profile = import_test_text(text);
	struct imported_sums sums = imported_sums_of(profile);

	CHECK_EQ_DOUBLE(sums.live, 65555);
	CHECK_EQ_DOUBLE(sums.allocated, 65555);
	CHECK_EQ_U64(sums.rows, 3);
	CHECK_EQ_U64(sums.unknown_errors, 1u << GG_BYTES | 1u << GG_ALLOCATIONS);
	CHECK_EQ_DOUBLE(import_result.interval_bytes, 0);
	gg_profile_close(profile);
	profile = import_test_file(text, strlen(text), &allocated);
	sums = imported_sums_of(profile);
	CHECK_EQ_DOUBLE(sums.live, 0);
	CHECK_EQ_DOUBLE(sums.allocated, 65555);
	gg_profile_close(profile);
	is_refused("main;a 5\nmain;b x\n", "file: offset 9", "a number");
	is_refused("main;a 5\nmain;b -5\n", "file: offset 9", "a number");
}

TEST(heaptrack_is_counted_event_by_event)
{
	static const char text[] =
		"v 10400 3\nX ./app -x\ns 4 /app\ns 4 main\ns 3 a.c\n"
		"i 1000 1 2 3 4\nt 1 0\na 10 1\na 20 1\n+ 0\n+ 1\n+ 1\nc 7d0\n- 1\n";
	struct gg_profile *profile = import_test_text(text);
	struct imported_sums sums;

	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	sums = imported_sums_of(profile);
	CHECK_EQ_DOUBLE(sums.live, 48);
	CHECK_EQ_DOUBLE(sums.live_count, 2);
	CHECK_EQ_DOUBLE(sums.allocated, 80);
	CHECK_EQ_DOUBLE(sums.allocated_count, 3);
	CHECK_EQ_U64(sums.unknown_errors, 0);
	CHECK_EQ_DOUBLE(sums.live_variance, 0);
	CHECK_EQ_DOUBLE(import_result.interval_bytes, 1);
	CHECK(import_result.duration_ns == 2000000000 &&
	      strcmp(import_result.command, "./app -x") == 0);
	gg_profile_close(profile);
	is_refused("v 10400 3\n- 0\n", "file: offset 10",
	           "an allocation that the file does not have");
	is_refused("v 10400 3\ns 4 /app\na 10 0\n- 0\n", "file: offset 26", "frees more blocks");
	is_refused("v 10400 3\ns 5 /app\n", "file: offset 10", "as long as the line states");
	is_refused("v 10400 4\n", "file: offset 0", "newer");
	is_refused("v 10400 3\nx /bin/app\n", "file: offset 10", "raw data");
}

static const char heapprofile[] =
	"{\"head\":{\"callFrame\":{\"functionName\":\"(root)\",\"url\":\"\",\"lineNumber\":-1},"
	"\"selfSize\":10,\"id\":1,\"children\":[{\"callFrame\":{\"functionName\":\"f\\u00e9\","
	"\"url\":\"file:///a.js\",\"lineNumber\":3},\"children\":[{\"callFrame\":{"
	"\"functionName\":\"\"},\"selfSize\":100,\"children\":[]}],\"selfSize\":512,\"id\":2}]},"
	"\"samples\":[{\"size\":512,\"nodeId\":2,\"ordinal\":1}]}";

static int see_line(const struct gg_profile_line *line, void *context)
{
	int *seen = context;

	*seen += strcmp(line->function, "f\xc3\xa9") == 0 && line->line == 4 &&
	         strcmp(line->file, "file:///a.js") == 0;
	return 0;
}

TEST(a_heapprofile_of_v8_is_the_sum_of_its_tree)
{
	struct gg_profile *profile = import_test_text(heapprofile);
	struct imported_sums sums;
	int seen = 0;

	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	sums = imported_sums_of(profile);
	CHECK(sums.live == 622 && sums.unknown_errors != 0);
	CHECK(gg_profile_each_line(profile, see_line, &seen, &import_error) == 0 && seen == 1);
	gg_profile_close(profile);
	for (size_t i = 100; i < strlen(heapprofile); i++) {
		profile = import_test_file(heapprofile, i, NULL);
		if (!CHECK_MSG(profile == NULL, "cut at %zu it was taken", i))
			gg_profile_close(profile);
	}
}

/* --- PyPy ---------------------------------------------------------------------------------- */

/* Two roots, the mark behind them, and three objects of two types. */
static const int64_t pypy_dump[] = {
	0x7f00001000,
	2,
	24,
	0x7f00002000,
	-1, /* */
	0x7f00001100,
	5,
	16,
	-1, /* */
	0,
	0,
	0,
	-1, /* */
	0x7f00002000,
	2,
	100,
	0x7f00001000,
	0x7f00001100,
	-1,
	0x7f00002100,
	2,
	1,
	-1, /* */
	0x7f00002200,
	5,
	3,
	0x7f00002000,
	-1,
};

struct pypy_types {
	int rows;
	double bytes, count;
};

static int add_pypy_row(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct pypy_types *types = context;

	CHECK(aggregate->has_kind && aggregate->heap == 1 && aggregate->stack > 0);
	CHECK(gg_fixed_value(aggregate->sums.bytes_variance) == 0);
	types->rows++;
	types->bytes += gg_fixed_value(aggregate->sums.bytes) * aggregate->type;
	types->count += gg_fixed_value(aggregate->sums.count) * aggregate->type;
	return 0;
}

TEST(a_heap_dump_of_pypy_is_exact_by_type)
{
	struct gg_profile *profile = import_test_file(pypy_dump, sizeof(pypy_dump), NULL);
	struct pypy_types types = { 0 };
	struct imported_sums sums;

	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	CHECK_EQ_STR(import_result.format, "heap dump of PyPy");
	sums = imported_sums_of(profile);
	CHECK(sums.live == 144 && sums.live_count == 5 && sums.live_variance == 0);
	CHECK(gg_profile_each_aggregate(profile, add_pypy_row, &types, &import_error) == 0);
	CHECK(types.rows == 2 && types.bytes == 125 + 2 * 19 && types.count == 3 + 2 * 2);
	gg_profile_close(profile);
}

TEST(a_heap_dump_of_pypy_that_is_cut_or_wrong_is_refused)
{
	int64_t bad[sizeof(pypy_dump) / sizeof(*pypy_dump)];
	static const struct {
		size_t word;
		int64_t value;
		const char *place, *message;
	} faults[] = {
		{ 5, 0x7f00001101, "test: offset 40", "address" },
		{ 6, -3, "test: offset 48", "type" },
		{ 7, INT64_MIN, "test: offset 56", "size" },
	};

	for (size_t length = 32; length < sizeof(pypy_dump); length += 4) {
		struct gg_profile *profile = import_test_file(pypy_dump, length, NULL);

		/* Some cuts are between two objects. */
		if (profile == NULL)
			CHECK_MSG(strstr(import_error.message, "truncated") != NULL, "%zu: %s",
			          length, import_error.message);
		gg_profile_close(profile);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		memcpy(bad, pypy_dump, sizeof(bad));
		bad[faults[i].word] = faults[i].value;
		CHECK(import_test_file(bad, sizeof(bad), NULL) == NULL);
		CHECK_MSG(strstr(import_error.place, faults[i].place + 4) != NULL &&
		                  strstr(import_error.message, faults[i].message) != NULL,
		          "%s: %s", import_error.place, import_error.message);
	}
}

TEST(what_is_no_profile_is_refused)
{
	is_refused("", "file: offset 0", "empty");
	is_refused("hello\nworld\n", "file: offset 0", "does not know the format");
	is_refused("{\"a\": 1}", "file: offset 0", "does not know the format");
}
