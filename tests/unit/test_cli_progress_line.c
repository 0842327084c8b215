/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_progress_line - shows when a line appears, changes and goes, by a clock of its own. */
#include "cli/progress_line.h"

#include <stdlib.h>

#include "base/time_units.h"
#include "test.h"

static uint64_t now_ns;

static uint64_t read_clock(void)
{
	return now_ns;
}

/* A line that appears after a second, and what it has drawn. */
struct scene {
	struct gg_progress_line line;
	char *drawn;
	size_t length;
	FILE *out;
};

static void begin(struct scene *scene)
{
	now_ns = 5 * GG_NS_PER_S;
	scene->out = open_memstream(&scene->drawn, &scene->length);
	gg_progress_line_init_on(&scene->line, scene->out, read_clock, GG_NS_PER_S);
}

static void end(struct scene *scene)
{
	gg_progress_line_end(&scene->line);
	fclose(scene->out);
	free(scene->drawn);
}

static void report_at(struct scene *scene, uint64_t ms, uint64_t done, uint64_t total)
{
	now_ns = 5 * GG_NS_PER_S + ms * GG_NS_PER_MS;
	gg_progress_report(&scene->line.progress, done, total, "counting");
}

TEST(work_of_less_than_a_second_draws_and_erases_nothing)
{
	struct scene scene;

	begin(&scene);
	report_at(&scene, 0, 0, 10);
	report_at(&scene, 999, 9, 10);
	gg_progress_line_end(&scene.line);
	fflush(scene.out);
	CHECK_EQ_U64(scene.length, 0);
	end(&scene);
}

TEST(a_line_appears_after_a_second_and_changes_ten_times_a_second)
{
	struct scene scene;
	size_t changes = 0;

	begin(&scene);
	report_at(&scene, 0, 0, 4000);
	for (uint64_t ms = 1; ms < 2000; ms++)
		report_at(&scene, ms, ms, 4000);
	for (const char *at = scene.drawn; (at = strchr(at, '\r')) != NULL; at++)
		changes++;
	CHECK_EQ_U64(changes, 10);
	CHECK(strncmp(scene.drawn, "\rgeiger: counting ... 25 %\033[K", 28) == 0);
	CHECK_CONTAINS(scene.drawn, "\rgeiger: counting ... 48 %\033[K");
	end(&scene);
}

TEST(the_end_erases_the_line_once_and_a_later_report_begins_anew)
{
	static const char erased[] = "\r\033[K";
	struct scene scene;
	size_t length;

	begin(&scene);
	report_at(&scene, 0, 0, 10);
	report_at(&scene, 1000, 1, 10);
	gg_progress_end(&scene.line.progress);
	fflush(scene.out);
	length = scene.length;
	CHECK(length > strlen(erased) &&
	      strcmp(scene.drawn + length - strlen(erased), erased) == 0);
	gg_progress_line_end(&scene.line);
	report_at(&scene, 1001, 2, 10);
	report_at(&scene, 2000, 3, 10);
	fflush(scene.out);
	CHECK_EQ_U64(scene.length, length);
	report_at(&scene, 2001, 4, 10);
	CHECK_CONTAINS(scene.drawn, "40 %");
	end(&scene);
}

TEST(without_a_total_the_line_has_a_count)
{
	struct scene scene;

	begin(&scene);
	report_at(&scene, 0, 0, 0);
	report_at(&scene, 1000, 9999, 0);
	CHECK_CONTAINS(scene.drawn, "counting ... 9999\033[K");
	report_at(&scene, 2000, 12345, 0);
	CHECK_CONTAINS(scene.drawn, "counting ... 12.3 k\033[K");
	report_at(&scene, 3000, 2100000, 0);
	CHECK_CONTAINS(scene.drawn, "counting ... 2.1 M\033[K");
	report_at(&scene, 4000, 11, 10); /* the work has grown */
	CHECK_CONTAINS(scene.drawn, "counting ... 100 %\033[K");
	end(&scene);
}

TEST(two_lines_are_never_on_one_terminal)
{
	struct scene first, second;

	begin(&first);
	begin(&second);
	report_at(&first, 0, 0, 10);
	report_at(&second, 0, 0, 10);
	report_at(&second, 1000, 1, 10);
	report_at(&first, 1000, 1, 10);
	fflush(second.out);
	CHECK_EQ_U64(second.length, 0);
	CHECK_CONTAINS(first.drawn, "10 %");
	gg_progress_line_end(&first.line);
	report_at(&second, 1100, 2, 10);
	report_at(&second, 2100, 3, 10);
	CHECK_CONTAINS(second.drawn, "30 %");
	end(&second);
	end(&first);
}

TEST(a_report_to_nobody_is_none)
{
	gg_progress_report(NULL, 1, 2, "counting");
	gg_progress_end(NULL);
}
