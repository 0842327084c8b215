/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile profiles: no crash, no endless loop, no id that points outside.
 *
 * An input that starts as an SQLite file is one.  Any other is a list of changes to a small
 * profile: 3 bytes where, 1 byte how many (1 to 8), and those bytes.  So a fuzzer gets behind the
 * header without having to find a whole file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tests/profile.h"
#include "profile/sql_query.h"
#include "query/query.h"
#include "query/tree.h"
#include "stats/estimate/interval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64] = "/dev/shm/geiger-fuzz-XXXXXX"; /* memory: a profile is synced */
static uint8_t *original, *spoilt;
static size_t file_bytes;
static int fd;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void remove_file(void)
{
	unlink(path);
}

static void make_original(void)
{
	struct gg_profile *profile;
	struct gg_error error;

	fd = mkstemp(path);
	if (fd < 0) {
		strcpy(path, "/tmp/geiger-fuzz-XXXXXX");
		fd = mkstemp(path);
	}
	require(fd >= 0);
	atexit(remove_file);
	require(gg_profile_create(&profile, path, &error) == 0 && profile_write(profile, &error));
	require(gg_profile_finish(profile, &error) == 0);
	gg_profile_close(profile);
	close(fd);
	fd = open(path, O_RDWR | O_CLOEXEC); /* it was replaced */
	file_bytes = (size_t)lseek(fd, 0, SEEK_END);
	original = malloc(file_bytes);
	spoilt = malloc(file_bytes);
	require(original != NULL && spoilt != NULL);
	require(pread(fd, original, file_bytes, 0) == (ssize_t)file_bytes);
}

static void spoil(const uint8_t *data, size_t size)
{
	memcpy(spoilt, original, file_bytes);
	while (size >= 5) {
		size_t at = ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) %
		            (file_bytes - 8);
		size_t count = 1 + data[3] % 8;

		data += 4;
		size -= 4;
		count = count < size ? count : size;
		memcpy(spoilt + at, data, count);
		data += count;
		size -= count;
	}
	require(ftruncate(fd, (off_t)file_bytes) == 0);
	require(pwrite(fd, spoilt, file_bytes, 0) == (ssize_t)file_bytes);
}

static int see_stack(const struct gg_profile_stack *stack, void *context)
{
	(void)context;
	require(stack->id > 0 && stack->parent < stack->id);
	return 0;
}

static int see_line(const struct gg_profile_line *line, void *context)
{
	*(size_t *)context += line->function != NULL ? strlen(line->function) : 0;
	return 0;
}

static int see_module(const struct gg_profile_module *module, void *context)
{
	for (size_t i = 0; i < module->build_id_bytes; i++)
		*(size_t *)context += module->build_id[i];
	return 0;
}

static int see_sample(const struct gg_profile_sample *sample, void *context)
{
	(void)context;
	require(gg_draw_is_valid(&sample->draw));
	return 0;
}

static int see_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	(void)context;
	require(aggregate->size_class <= 255 && aggregate->interval_bytes >= 0);
	return 0;
}

static int see_total(const struct gg_profile_total *total, void *context)
{
	*(size_t *)context += total->lifetimes[31];
	return 0;
}

static void see_problem(const char *problem, void *context)
{
	*(size_t *)context += strlen(problem);
}

static void ask(struct gg_profile *profile, const char *sql)
{
	struct gg_error error;
	struct gg_sql_query *query;

	if (gg_sql_query_new(&query, profile, sql, &error) < 0)
		return;
	for (int i = 0; i < 200 && gg_sql_query_next(query, &error) > 0; i++)
		for (int column = 0; column < gg_sql_query_column_count(query); column++)
			gg_sql_query_text(query, column, NULL);
	gg_sql_query_free(query);
}

/* Every metric and grouping, at moments within and beyond the profile's time. */
static void ask_rows(const struct gg_model *model, struct gg_query *question)
{
	const int64_t moments[] = { INT64_MIN, -1, 0, 1, 1000000, INT64_MAX - 1, GG_TIME_NONE };
	struct gg_query_result *result;
	struct gg_error error;

	for (int metric = GG_METRIC_LIVE; metric <= GG_METRIC_FREED; metric++)
		for (int by = 0; by < GG_GROUPING_COUNT; by++) {
			struct gg_buf label = { 0 };

			question->metric = (enum gg_metric)metric;
			question->by = (enum gg_grouping)by;
			question->to_ns = moments[(metric + by) % 7];
			if (gg_query_rows(model, question, &result, &error) < 0)
				continue;
			for (size_t i = 0; i < result->row_count && i < 100; i++) {
				gg_query_row_label(model, result, &result->rows[i], &label);
				gg_interval_of(result->rows[i].total, GG_BYTES, 0.95, true);
			}
			gg_buf_done(&label);
			gg_query_result_free(result);
		}
}

static void use_model(struct gg_profile *profile)
{
	const struct gg_tree_options options = { .fold = 0.01 };
	const int64_t times[] = { 0, 1000, 1000000, GG_TIME_NONE };
	struct gg_tally tallies[4];
	struct gg_query question;
	struct gg_model *model;
	struct gg_tree *tree;
	struct gg_peak peak;
	struct gg_error error;

	if (gg_model_load(&model, &profile, 1, NULL, &error) < 0)
		return;
	if (gg_model_validate(model, &error) < 0) { /* every loaded model is valid */
		fprintf(stderr, "%s: %s\n", error.place, error.message);
		abort();
	}
	gg_query_init(&question);
	ask_rows(model, &question);
	question.focus = "a";
	ask_rows(model, &question);
	gg_query_init(&question);
	(void)!gg_query_peak(model, &question, &peak, &error);
	(void)!gg_query_live_at(model, &question, times, 4, tallies, &error);
	if (gg_tree_build(&tree, model, &question, &options, &error) == 0)
		gg_tree_free(tree);
	gg_model_free(model);
}

static void use(struct gg_profile *profile)
{
	struct gg_profile_session session;
	struct gg_error error;
	size_t sum = 0;

	(void)!gg_profile_session(profile, &session, &error);
	gg_profile_each_stack(profile, see_stack, NULL, &error);
	gg_profile_each_line(profile, see_line, &sum, &error);
	gg_profile_each_module(profile, see_module, &sum, &error);
	gg_profile_each_sample(profile, see_sample, NULL, &error);
	gg_profile_each_aggregate(profile, see_aggregate, NULL, &error);
	gg_profile_each_total(profile, see_total, &sum, &error);
	(void)!gg_profile_check(profile, see_problem, &sum, &error);
	use_model(profile);
	ask(profile, "select * from v_function");
	ask(profile, "select * from v_stack");
	ask(profile, "select * from v_leak");
	ask(profile, "select * from v_timeline");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gg_profile *profile;
	struct gg_error error;

	if (original == NULL)
		make_original();
	if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0) {
		require(ftruncate(fd, (off_t)size) == 0);
		require(pwrite(fd, data, size, 0) == (ssize_t)size);
	} else {
		spoil(data, size);
	}
	if (gg_profile_open(&profile, path, &error) == 0) {
		use(profile);
		gg_profile_close(profile);
	}
	/* A change of the profile must not crash. */
	if (gg_profile_edit(&profile, path, &error) == 0) {
		(void)!gg_profile_add_note(profile, "a note", &error);
		(void)!gg_profile_finish(profile, &error);
		gg_profile_close(profile);
	}
	return 0;
}
