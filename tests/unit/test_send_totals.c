/* SPDX-License-Identifier: Apache-2.0 */
/* test_send_totals - shows that differences add up to totals, and that their file is whole. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "made_profile.h"
#include "scratch.h"
#include "send/sent_totals.h"
#include "test.h"

enum { STACKS = 40, LOOKS = 20 };

/* The state after some looks: each allocates in a third of the stacks. */
static struct gg_model *make_model(int looks, bool is_renamed)
{
	struct gg_model *model = NULL;
	struct made_profile made;
	char text[64];

	made_begin(&made, NULL, 1000, 3);
	for (int look = 0; look < looks; look++)
		for (int i = look % 3; i < STACKS; i += 3) {
			snprintf(text, sizeof(text), "main>0x%x",
			         i + 0x1000 + (is_renamed && i == 5 ? 0x100000 : 0));
			made_allocate(&made, made_stack(&made, text), 100 + 37 * (uint64_t)i, 20,
			              1000 * look, look % 2 ? GG_TIME_NONE : 1000 * look + 500);
		}
	REQUIRE(gg_model_load(&model, &made.profile, 1, NULL, NULL) == 0);
	gg_profile_close(made.profile);
	return model;
}

static struct gg_extract *extract_of(const struct gg_model *model)
{
	struct gg_extract *extract = NULL;
	struct gg_query query;

	gg_query_init(&query);
	REQUIRE(gg_extract_make_by_stack(&extract, model, &query, 0.95, NULL) == 0);
	return extract;
}

/* Subtracts the state after `looks` looks; returns the new bytes, and the total in *ret_total. */
static double subtract(struct gg_sent_totals *totals, int looks, bool is_renamed, double *ret_total)
{
	struct gg_model *model = make_model(looks, is_renamed);
	struct gg_extract *extract = extract_of(model);
	double bytes = 0;

	*ret_total = gg_tally_estimate(&extract->allocated, GG_BYTES).value;
	CHECK_EQ_I64(gg_sent_totals_subtract(totals, extract, NULL), 0);
	for (size_t i = 0; i < extract->row_count; i++)
		bytes += (double)extract->rows[i].allocated.bytes;
	CHECK_EQ_DOUBLE((double)extract->allocated_bytes, bytes);
	gg_extract_free(extract);
	gg_model_free(model);
	return bytes;
}

TEST(differences_of_many_looks_add_up_to_the_total)
{
	struct gg_sent_totals totals = { 0 };
	double sum = 0, total = 0;

	for (int look = 1; look <= LOOKS; look++) {
		double more = subtract(&totals, look, false, &total);

		CHECK(more > 0);
		sum += more;
		CHECK(fabs(sum - total) <= STACKS / 2.0);
	}
	CHECK(subtract(&totals, LOOKS, false, &total) == 0); /* nothing is new */
	gg_sent_totals_done(&totals);
}

TEST(a_row_that_changes_its_key_makes_no_difference_too_large)
{
	struct gg_sent_totals totals = { 0 };
	double total, sum = subtract(&totals, 10, false, &total);

	sum += subtract(&totals, 11, true, &total);
	CHECK(fabs(sum - total) <= STACKS + 1);
	gg_sent_totals_done(&totals);
}

TEST(the_tally_of_a_difference_is_in_its_first_row)
{
	struct gg_sent_totals totals = { 0 };
	struct gg_model *model = make_model(8, false);
	struct gg_extract *extract;
	double total, before = subtract(&totals, 7, false, &total);
	struct gg_tally tally;

	extract = extract_of(model);
	total = gg_tally_estimate(&extract->allocated, GG_BYTES).value;
	CHECK_EQ_I64(gg_sent_totals_subtract(&totals, extract, NULL), 0);
	gg_plain_tally_tally(&extract->rows[0].allocated.tally, &tally);
	CHECK(fabs(gg_tally_estimate(&tally, GG_BYTES).value - (total - before)) <= STACKS);
	CHECK(gg_tally_estimate(&tally, GG_BYTES).variance > 0);
	for (size_t i = 1; i < extract->row_count; i++)
		CHECK(extract->rows[i].allocated.tally.sample_count == 0);
	gg_extract_free(extract);
	gg_model_free(model);
	gg_sent_totals_done(&totals);
}

TEST(a_file_has_what_was_written_or_is_refused)
{
	struct gg_sent_totals totals = { .number = 7, .until_ns = 8, .is_final = true }, back;
	int folder = open(scratch_folder(), O_RDONLY | O_DIRECTORY);
	double total, bytes;
	char byte;
	int file;

	CHECK_EQ_I64(gg_sent_totals_read(&back, folder, "x.totals", NULL), -ENOENT);
	bytes = subtract(&totals, 5, false, &total);
	totals.is_final = true;
	CHECK_EQ_I64(gg_sent_totals_write(&totals, folder, "x.totals", NULL), 0);
	CHECK_EQ_I64(gg_sent_totals_read(&back, folder, "x.totals", NULL), 0);
	CHECK(bytes > 0 && back.number == 7 && back.until_ns == 8 && back.is_final);
	CHECK(subtract(&back, 5, false, &total) == 0);
	gg_sent_totals_done(&back);
	file = openat(folder, "x.totals", O_RDWR);
	for (off_t at = 0; at < 1000; at += 97) {
		REQUIRE(pread(file, &byte, 1, at) == 1);
		byte ^= 0x10;
		REQUIRE(pwrite(file, &byte, 1, at) == 1);
		CHECK_EQ_I64(gg_sent_totals_read(&back, folder, "x.totals", NULL), -EBADMSG);
		gg_sent_totals_done(&back);
		byte ^= 0x10;
		REQUIRE(pwrite(file, &byte, 1, at) == 1);
	}
	REQUIRE(ftruncate(file, 500) == 0);
	CHECK_EQ_I64(gg_sent_totals_read(&back, folder, "x.totals", NULL), -EBADMSG);
	close(file);
	close(folder);
	gg_sent_totals_done(&totals);
}

TEST(a_file_has_its_rows_by_key_whatever_their_order)
{
	struct gg_sent_row rows[STACKS], back[STACKS];
	struct gg_sent_totals totals = { .number = 1 };
	int folder = open(scratch_folder(), O_RDONLY | O_DIRECTORY), file;
	off_t length;

	for (uint64_t i = 0; i < STACKS; i++)
		rows[i] = (struct gg_sent_row){ i * 7 % STACKS, i, i };
	totals.rows.items = rows;
	totals.rows.count = STACKS;
	CHECK_EQ_I64(gg_sent_totals_write(&totals, folder, "order.totals", NULL), 0);
	file = openat(folder, "order.totals", O_RDONLY);
	length = lseek(file, 0, SEEK_END);
	CHECK(pread(file, back, sizeof(back), length - (off_t)sizeof(back)) == sizeof(back));
	for (uint64_t i = 0; i < STACKS; i++)
		CHECK(back[i].key == i && back[i].bytes * 7 % STACKS == i);
	CHECK(rows[1].key == 7); /* the caller's rows stay in their order */
	close(file);
	close(folder);
}
