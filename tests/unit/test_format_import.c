/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_import - runs each format's importer on small files: whole, wrong and truncated ones.
 *
 * It also shows what merging makes of imported profiles.
 */
#include "format/import/import.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "format/merge/merge.h"
#include "made_profile.h"
#include "stats/estimate/tally.h"
#include "test.h"

struct sums {
	double live, live_count, allocated, allocated_count, live_variance;
	uint32_t unknown_errors;
	uint64_t rows;
};

static struct gg_error error;

static int add_row(const struct gg_profile_coarse *row, void *context)
{
	struct sums *sums = context;
	double bytes = gg_fixed_value(row->sums.bytes), count = gg_fixed_value(row->sums.count);

	if (row->to_ns == GG_TIME_NONE) {
		sums->live += bytes;
		sums->live_count += count;
		sums->live_variance += gg_fixed_value(row->sums.bytes_variance);
	}
	sums->allocated += bytes;
	sums->allocated_count += count;
	sums->unknown_errors |= row->unknown_errors;
	sums->rows++;
	return 0;
}

static struct sums sums_of(struct gg_profile *profile)
{
	struct sums sums = { 0 };

	CHECK_EQ_I64(gg_profile_each_coarse(profile, add_row, &sums, &error), 0);
	return sums;
}

static struct gg_import_result result;

/* NULL: it was refused, and `error` says why. */
static struct gg_profile *import(const void *bytes, size_t length,
                                 const struct gg_import_options *options)
{
	struct gg_import_options given = { .ignore_files = true };
	struct gg_profile *profile;
	struct gg_input *input;
	int code;

	if (options != NULL)
		given = *options;
	error = (struct gg_error){ 0 };
	CHECK_EQ_I64(gg_profile_create(&profile, NULL, &error), 0);
	if (gg_input_of(&input, bytes, length, "file", &error) < 0) {
		gg_profile_close(profile);
		return NULL;
	}
	code = gg_import(profile, input, &given, &result, &error);
	if (code == 0)
		code = gg_import_session(profile, &result, 1, &error);
	gg_input_close(input);
	if (code == 0)
		return profile;
	gg_profile_close(profile);
	return NULL;
}

static struct gg_profile *import_text(const char *text)
{
	return import(text, strlen(text), NULL);
}

static bool is_near(double is, double wanted)
{
	return fabs(is - wanted) <= 1e-6 * fabs(wanted) + 1e-5;
}

static bool is_refused(const char *text, const char *place, const char *message)
{
	struct gg_profile *profile = import_text(text);

	if (!CHECK_MSG(profile == NULL, "it was taken: %s", text)) {
		gg_profile_close(profile);
		return false;
	}
	return CHECK_MSG(strcmp(error.place, place) == 0 && strstr(error.message, message) != NULL,
	                 "'%s': '%s'", error.place, error.message);
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

static double scaled(double count, double bytes, double interval)
{
	return bytes / (1 - exp(-bytes / count / interval));
}

TEST(rows_of_jemalloc_are_scaled_one_by_one)
{
	struct gg_profile *profile = import_text(dump);
	struct sums sums;

	if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
		return;
	sums = sums_of(profile);
	CHECK_MSG(is_near(sums.live, scaled(3, 96, 1000) + scaled(2, 65, 1000)), "%g", sums.live);
	CHECK(is_near(sums.allocated, scaled(4, 128, 1000) + scaled(3, 97, 1000)));
	CHECK(sums.unknown_errors == 0 && sums.live_variance > 0);
	CHECK(result.interval_bytes == 1000 && strcmp(result.command, "/bin/app") == 0);
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
	struct gg_profile *profile = import_text(dump);
	int seen = 0;

	CHECK(gg_profile_each_thread(profile, see_thread, &seen, &error) == 0 && seen == 11);
	seen = 0;
	CHECK(gg_profile_each_frame(profile, see_frame, &seen, &error) == 0 && seen == 1);
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
	struct gg_profile *profile = import_text(text);
	bool seen = false;

	CHECK(profile != NULL && gg_profile_each_note(profile, see_note, &seen, &error) == 0);
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
		struct gg_profile *profile = import(dump, i, NULL);

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
		struct sums sums;
		double wanted = types[i].interval_bytes > 1 ? scaled(3, 96, types[i].interval_bytes)
		                                            : 96;

		gg_buf_printf(&text, "heap profile: 3: 96 [ 4: 128] @ %s\n%s", types[i].type, rows);
		profile = import_text(gg_buf_text(&text));
		if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
			continue;
		sums = sums_of(profile);
		CHECK_MSG(is_near(sums.live, wanted), "%s: %g", types[i].type, sums.live);
		CHECK(result.interval_bytes == types[i].interval_bytes && sums.unknown_errors == 0);
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

	CHECK_EQ_I64(gg_profile_each_note(profile, find_note, &of, &error), 0);
	return of.count;
}

TEST(a_gperftools_file_that_warns_is_read_and_its_warning_noted)
{
	struct gg_profile *profile = import_text("%warn\n%warn This heap was not sampled.\n"
	                                         "heap profile: 1: 9 [ 1: 9] @ heapprofile\n"
	                                         "  1: 9 [ 1: 9] @ 0x401011\n" MAPS);

	if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
		return;
	CHECK_EQ_DOUBLE(sums_of(profile).live, 9);
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
		profile = import_text(gg_buf_text(&text));
		if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
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
	struct gg_profile *profile = import_text("heap profile: 3: 48 [3: 48] @ heap/2\n"
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

	if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
		return;
	CHECK_EQ_DOUBLE(sums_of(profile).live, 48);
	CHECK_EQ_I64(gg_profile_each_line(profile, list_line, &seen, &error), 0);
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
	struct sums sums;

	for (int i = 0; i < 5000; i++)
		gg_buf_append_text(&text, "main;grow 10\nmain 1\n");
	profile = import_text(gg_buf_text(&text));
	if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
		return;
	sums = sums_of(profile);
	CHECK_MSG(sums.rows == 2 && sums.live == 55000, "%llu rows, %g",
	          (unsigned long long)sums.rows, sums.live);
	CHECK_EQ_U64(result.row_count, 10000);
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
		struct gg_profile *profile = import_text(cases[i].text);
		struct sums sums;

		if (!CHECK_MSG(profile != NULL, "%zu: %s: %s", i, error.place, error.message))
			continue;
		sums = sums_of(profile);
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
	struct gg_profile *profile = import_text(text);
	struct sums sums = sums_of(profile);

	CHECK_EQ_DOUBLE(sums.live, 65555);
	CHECK_EQ_DOUBLE(sums.allocated, 65555);
	CHECK_EQ_U64(sums.rows, 3);
	CHECK_EQ_U64(sums.unknown_errors, 1u << GG_BYTES | 1u << GG_ALLOCATIONS);
	CHECK_EQ_DOUBLE(result.interval_bytes, 0);
	gg_profile_close(profile);
	profile = import(text, strlen(text), &allocated);
	sums = sums_of(profile);
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
	struct gg_profile *profile = import_text(text);
	struct sums sums;

	if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
		return;
	sums = sums_of(profile);
	CHECK_EQ_DOUBLE(sums.live, 48);
	CHECK_EQ_DOUBLE(sums.live_count, 2);
	CHECK_EQ_DOUBLE(sums.allocated, 80);
	CHECK_EQ_DOUBLE(sums.allocated_count, 3);
	CHECK_EQ_U64(sums.unknown_errors, 0);
	CHECK_EQ_DOUBLE(sums.live_variance, 0);
	CHECK_EQ_DOUBLE(result.interval_bytes, 1);
	CHECK(result.duration_ns == 2000000000 && strcmp(result.command, "./app -x") == 0);
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
	struct gg_profile *profile = import_text(heapprofile);
	struct sums sums;
	int seen = 0;

	if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
		return;
	sums = sums_of(profile);
	CHECK(sums.live == 622 && sums.unknown_errors != 0);
	CHECK(gg_profile_each_line(profile, see_line, &seen, &error) == 0 && seen == 1);
	gg_profile_close(profile);
	for (size_t i = 100; i < strlen(heapprofile); i++) {
		profile = import(heapprofile, i, NULL);
		if (!CHECK_MSG(profile == NULL, "cut at %zu it was taken", i))
			gg_profile_close(profile);
	}
}

TEST(what_is_no_profile_is_refused)
{
	is_refused("", "file: offset 0", "empty");
	is_refused("hello\nworld\n", "file: offset 0", "does not know the format");
	is_refused("{\"a\": 1}", "file: offset 0", "does not know the format");
}

/* --- protocol buffers ---------------------------------------------------------------------- */

static void put_varint(struct gg_buf *out, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);

		gg_buf_append(out, &byte, 1);
		value >>= 7;
	} while (value > 0);
}

static void put_number(struct gg_buf *out, uint32_t field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void put_bytes(struct gg_buf *out, uint32_t field, const void *bytes, size_t length)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, length);
	gg_buf_append(out, bytes, length);
}

/* A message of up to four numbers, fields 1 to 4. */
static void put_numbers(struct gg_buf *out, uint32_t field, uint64_t a, uint64_t b, uint64_t c)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };
	uint64_t values[] = { a, b, c };

	for (uint32_t i = 0; i < 3; i++)
		if (values[i] != 0)
			put_number(&message, i + 1, values[i]);
	put_bytes(out, field, message.data, message.length);
}

enum {
	T_NONE,
	T_OBJECTS,
	T_COUNT,
	T_SPACE,
	T_BYTES,
	T_PERIOD,
	T_APP,
	T_MAIN,
	T_HOST,
	T_WEB,
	T_END
};

/* 2 objects of 64 bytes live at R = 1000, out of 4; called by main. */
static void make_pprof(struct gg_buf *out, uint64_t period, uint64_t objects)
{
	static const char *const texts[T_END] = { "",      "inuse_objects", "count", "inuse_space",
		                                  "bytes", "space",         "/app",  "main",
		                                  "host",  "web-3" };
	GG_CLEANUP(gg_buf_done) struct gg_buf sample = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf location = { 0 };

	put_numbers(out, 1, T_OBJECTS, T_COUNT, 0);
	put_numbers(out, 1, T_SPACE, T_BYTES, 0);
	put_number(&sample, 1, 7);
	put_number(&sample, 2, objects);
	put_number(&sample, 2, objects * 64);
	put_numbers(&sample, 3, T_BYTES, 0, 64);
	put_numbers(&sample, 3, T_HOST, T_WEB, 0);
	put_bytes(out, 2, sample.data, sample.length);
	put_number(&location, 1, 7);
	put_numbers(&location, 4, 9, 12, 0);
	put_bytes(out, 4, location.data, location.length);
	put_numbers(out, 5, 9, T_MAIN, 0);
	for (int i = 0; i < T_END; i++)
		put_bytes(out, 6, texts[i], strlen(texts[i]));
	put_numbers(out, 11, T_PERIOD, T_BYTES, 0);
	put_number(out, 12, period);
}

static int see_label(uint32_t process, const char *key, const char *value, void *context)
{
	int *seen = context;

	*seen += process == 1 && strcmp(key, "host") == 0 && strcmp(value, "web-3") == 0;
	return 0;
}

TEST(pprof_is_taken_as_it_is_with_errors_that_follow_from_its_period)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	double p = 1 - exp(-64 / 1000.0);
	struct gg_profile *profile;
	struct sums sums;
	int seen = 0;

	make_pprof(&file, 1000, 50);
	profile = import(file.data, file.length, NULL);
	if (!CHECK_MSG(profile != NULL, "%s: %s", error.place, error.message))
		return;
	sums = sums_of(profile);
	CHECK_EQ_DOUBLE(sums.live, 3200);
	CHECK_EQ_DOUBLE(sums.live_count, 50);
	CHECK_EQ_U64(sums.unknown_errors, 0);
	CHECK(is_near(sums.live_variance, 50 * 64.0 * 64 * (1 - p) / p));
	CHECK(gg_profile_each_label(profile, see_label, &seen, &error) == 0 && seen == 1);
	gg_profile_close(profile);
}

TEST(pprof_without_a_period_has_no_error_and_with_one_of_1_is_exact)
{
	for (uint64_t period = 0; period < 2; period++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
		struct gg_profile *profile;
		struct sums sums;

		make_pprof(&file, period, 50);
		profile = import(file.data, file.length, NULL);
		sums = sums_of(profile);
		CHECK_EQ_DOUBLE(sums.live, 3200);
		CHECK_EQ_DOUBLE(sums.live_variance, 0);
		CHECK_EQ_I64(sums.unknown_errors == 0, period == 1);
		gg_profile_close(profile);
	}
}

TEST(a_pprof_file_that_is_cut_is_refused_or_has_only_what_is_there)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	size_t taken = 0;

	make_pprof(&file, 1000, 50);
	for (size_t i = 1; i < file.length; i++) {
		struct gg_profile *profile = import(file.data, i, NULL);

		if (profile == NULL) {
			CHECK_CONTAINS(error.place, "file: offset ");
			continue;
		}
		taken++;
		gg_profile_close(profile);
	}
	/* Between two fields a cut cannot be seen: only the last ones are not referred to. */
	CHECK_MSG(taken <= 3, "%zu", taken);
}

/* --- merging ------------------------------------------------------------------------------- */

static struct gg_profile *merge(struct gg_profile *const *profiles, size_t count,
                                const struct gg_merge_options *options)
{
	struct gg_merge_options none = { 0 };
	struct gg_profile *out;
	struct gg_merge *sum;

	CHECK_EQ_I64(gg_profile_create(&out, NULL, &error), 0);
	CHECK_EQ_I64(gg_merge_new(&sum, out, options != NULL ? options : &none, &error), 0);
	for (size_t i = 0; i < count; i++)
		CHECK_MSG(gg_merge_add(sum, profiles[i], &error) == 0, "%s", error.message);
	CHECK_EQ_I64(gg_merge_finish(sum, &error), 0);
	gg_merge_free(sum);
	return out;
}

TEST(a_thousand_times_a_thousand_machines_hold_a_million_times_as_much)
{
	/* Each of a million machines samples an 8-byte stack eight times and an 8-MB stack once. */
	struct gg_profile *machine = import_text(
		"heap_v2/1000000\n  t*: 9: 8000064 [9: 8000064]\n"
		"@ 0x401011\n  t*: 8: 64 [8: 64]\n"
		"@ 0x402011\n  t*: 1: 8000000 [1: 8000000]\n" MAPS);
	struct gg_profile *thousand[1000], *rack, *fleet;
	struct sums sums;

	for (size_t i = 0; i < 1000; i++)
		thousand[i] = machine;
	rack = merge(thousand, 1000, NULL);
	for (size_t i = 0; i < 1000; i++)
		thousand[i] = rack;
	fleet = merge(thousand, 1000, NULL);
	sums = sums_of(fleet);
	CHECK_EQ_U64(sums.rows, 2);
	/* 8 TB each: 10^12 objects of 8 bytes, and 10^6 of 8 MB, seen with p = 1 - e^-8. */
	CHECK_MSG(fabs(sums.live / (8e12 + 8e12 / (1 - exp(-8))) - 1) < 1e-5, "%g", sums.live);
	CHECK_MSG(fabs(sums.live_count / 1e12 - 1) < 1e-5, "%g", sums.live_count);
	gg_profile_close(machine);
	gg_profile_close(rack);
	gg_profile_close(fleet);
}

static int count_labels(uint32_t process, const char *key, const char *value, void *context)
{
	int *seen = context;

	(void)key;
	*seen += strcmp(value, "web-3") == 0 ? 1 : strcmp(value, "2.1") == 0 ? 100 : 10000;
	return (int)(process * 0);
}

TEST(labels_stay_and_processes_that_have_the_same_are_one)
{
	const struct gg_import_label version = { "version", "2.1" };
	const struct gg_merge_options options = { &version, 1, false };
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	struct gg_profile *profiles[3], *out;
	struct sums sums;
	int seen = 0;

	make_pprof(&file, 1000, 50);
	profiles[0] = profiles[1] = import(file.data, file.length, NULL);
	profiles[2] = import_text("main 640\n");
	out = merge(profiles, 3, &options);
	sums = sums_of(out);
	CHECK(sums.rows == 2 && sums.live == 2 * 3200 + 640);
	CHECK(gg_profile_each_label(out, count_labels, &seen, &error) == 0 && seen == 201);
	gg_profile_close(profiles[0]);
	gg_profile_close(profiles[2]);
	gg_profile_close(out);
}

static int count_stacks(const struct gg_profile_stack *stack, void *context)
{
	*(uint32_t *)context = stack->id;
	return 0;
}

TEST(samples_are_weighed_by_their_own_interval_and_stacks_matched_by_their_names)
{
	struct made_profile a, b;
	struct gg_profile *profiles[2], *out;
	uint32_t stacks = 0;
	struct sums sums;

	made_begin(&a, NULL, 1000, 1);
	made_sample(&a, made_stack(&a, "main>load>parse"), 64, 5, GG_TIME_NONE);
	made_sample(&a, made_stack(&a, "main>other"), 64, 5, 6);
	made_begin(&b, NULL, 9000, 2);
	made_stack(&b, "other>things>first"); /* so that ids differ */
	made_sample(&b, made_stack(&b, "main>load>parse"), 64, 5, GG_TIME_NONE);
	profiles[0] = a.profile;
	profiles[1] = b.profile;
	out = merge(profiles, 2, NULL);
	sums = sums_of(out);
	CHECK_EQ_U64(sums.rows, 3); /* intervals are rows of their own */
	CHECK_MSG(is_near(sums.live, scaled(1, 64, 1000) + scaled(1, 64, 9000)), "%g", sums.live);
	CHECK(is_near(sums.allocated, 2 * scaled(1, 64, 1000) + scaled(1, 64, 9000)));
	CHECK_EQ_I64(gg_profile_each_stack(out, count_stacks, &stacks, &error), 0);
	CHECK_MSG(stacks == 4 + 3, "%u", stacks);
	gg_profile_close(a.profile);
	gg_profile_close(b.profile);
	gg_profile_close(out);
}

TEST(a_block_that_a_fork_shared_is_merged_once)
{
	struct made_profile made;
	struct gg_profile *out;
	uint32_t stack;
	uint64_t freed, kept;
	struct sums sums;

	made_begin(&made, NULL, 1, 1);
	stack = made_stack(&made, "main>load");
	freed = made_sample(&made, stack, 64, 5, 10); /* by the parent; the child keeps it */
	kept = made_sample(&made, stack, 100, 5, GG_TIME_NONE);
	made.process = made_process(&made, 77, 7, GG_TIME_NONE);
	made_inherited(&made, stack, 64, 5, GG_TIME_NONE, freed);
	made_inherited(&made, stack, 100, 5, GG_TIME_NONE, kept);
	out = merge(&made.profile, 1, NULL);
	sums = sums_of(out);
	CHECK_MSG(sums.live == 164 && sums.allocated == 164, "%g of %g", sums.live, sums.allocated);
	gg_profile_close(made.profile);
	gg_profile_close(out);
}
