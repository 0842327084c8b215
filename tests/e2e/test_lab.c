/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `geiger lab` as a person, or a program that reads its JSON, meets it.  GEIGER names the program.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "confidence_table.h"
#include "test.h"

/* Runs `geiger LINE` by the shell and returns what it printed; its status must be as expected. */
static const char *lab(const char *line, int exit_status)
{
	static struct child child;
	char script[1024];
	const char *argv[] = { "sh", "-c", script, NULL };

	child_done(&child);
	snprintf(script, sizeof(script), "\"$GEIGER\" lab %s 2>&1", line);
	CHECK(child_run(&child, argv, NULL, 60));
	CHECK_MSG(child.exit_status == exit_status, "lab %s: status %d: %s", line,
	          child.exit_status, gg_buf_text(&child.out));
	return gg_buf_text(&child.out);
}

/* The number behind "NAME": the first time it stands in a JSON text; NaN if it does not. */
static double number_of(const char *json, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(json, key);
	return at != NULL ? strtod(at + strlen(key), NULL) : (double)NAN;
}

TEST(an_allocation_of_three_intervals_is_sampled_with_95_percent)
{
	const char *json = lab("error --interval 512KiB --size 1.5MiB --json", 0);

	/* 1 - e^-3, 2 * 3^3 e^-3 / 3!, and the latter given that it is sampled. */
	CHECK(fabs(number_of(json, "probability") - 0.950212931632136) < 1e-12);
	CHECK(fabs(number_of(json, "expected_error") - 0.448083615310776) < 1e-12);
	CHECK(fabs(number_of(json, "conditional_error") - 0.419165571930048) < 1e-12);
}

TEST(two_halves_are_one_allocation_but_for_the_old_cutoff)
{
	const char *text = lab("error", 0);

	CHECK_CONTAINS(text, "cutoff 99 %   63.2 %  73.6 %  63.2 %  73.6 %");
	CHECK_CONTAINS(text, "cutoff R     100.0 %   0.0 %  63.2 %  73.6 %");
}

TEST(the_old_cutoff_jumps_at_the_interval)
{
	CHECK_CONTAINS(
		lab("error --interval 512KiB", 0),
		"512.0 KiB   63.2   73.6    58.2   63.2   73.6    58.2  100.0    0.0     0.0");
}

TEST(the_confidence_table_is_the_published_one)
{
	const char *line = strchr(lab("table --interval 102400", 0), '\n');
	int row = 0;

	for (; line != NULL && line[1] != '\0'; line = strchr(line + 1, '\n'), row++) {
		double samples, low, high, rough_low, rough_high;

		CHECK(row < 25);
		CHECK_EQ_I64(sscanf(line, "%lf %lf %lf %lf %lf", &samples, &low, &high, &rough_low,
		                    &rough_high),
		             5);
		CHECK_EQ_DOUBLE(samples, confidence_table[row].samples);
		CHECK_MSG(fabs(low - confidence_table[row].low) <= 1, "%g: %.0f", samples, low);
		CHECK_MSG(fabs(high - confidence_table[row].high) <= 1, "%g: %.0f", samples, high);
	}
	CHECK_EQ_I64(row, 25);
}

TEST(rows_confidence_and_form_can_be_chosen)
{
	const char *json = lab("table -i 102400 -s 8,1 -c 0.95 --json", 0);

	CHECK_EQ_DOUBLE(number_of(json, "samples"), 8);
	CHECK(fabs(number_of(json, "low") - 353666) <= 1);
	CHECK_EQ_DOUBLE(number_of(json, "interval_bytes"), 102400);
	CHECK_CONTAINS(json, "\"camp_paulson\":{\"low\":");
}

TEST(a_picture_is_written_beside_the_table)
{
	char path[] = "/tmp/geiger-lab-XXXXXX.svg", line[128], head[64] = "";
	int fd = mkstemps(path, 4);
	FILE *file;

	CHECK(fd >= 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), "%s --svg %s", i == 0 ? "error" : "table", path);
		lab(line, 0);
		file = fopen(path, "r");
		CHECK(file != NULL && fgets(head, sizeof(head), file) != NULL);
		CHECK_EQ_I64(strncmp(head, "<svg xmlns=", 11), 0);
		if (file != NULL)
			fclose(file);
	}
	unlink(path);
}

TEST(a_picture_that_cannot_be_written_is_an_error)
{
	CHECK_CONTAINS(lab("error --svg /nonexistent/x.svg", 1),
	               "geiger: /nonexistent/x.svg: No such file or directory.");
	CHECK_CONTAINS(lab("error --svg /dev/full", 1), "/dev/full: No space left on device.");
	CHECK_EQ_I64(access("/dev/full", W_OK), 0); /* and it is still there */
}

TEST(wrong_requests_are_told)
{
	CHECK_CONTAINS(lab("", 2), "geiger: lab: needs a command.");
	CHECK_CONTAINS(lab("eror", 2),
	               "geiger: lab: unknown command 'eror'. Did you mean 'error'?");
	CHECK_CONTAINS(lab("error --interval 0", 2),
	               "lab error: --interval: 0 is not an interval.");
	CHECK_CONTAINS(lab("table --samples 1,,2", 2), "'1,,2' is not a list of sample counts.");
	CHECK_CONTAINS(lab("table --samples 0", 2), "'0' is not a list");
	CHECK_CONTAINS(lab("table --confidence 1", 2), "1 is not between 0 and 1.");
	CHECK_CONTAINS(lab("table extra", 2), "lab table: unexpected operand 'extra'.");
}

TEST(schemes_are_compared_on_one_trace_without_bias)
{
	const char *json = lab("compare --sizes lognormal:count=5000,groups=3 --interval 4KiB "
	                       "--runs 200 --json",
	                       0);
	int schemes = 0;

	CHECK(number_of(json, "allocations") == 5000 && number_of(json, "groups") == 3);
	for (const char *at = json; (at = strstr(at, "\"scheme\":")) != NULL; at++) {
		double truth = number_of(at, "truth"), mean = number_of(at, "mean");

		/* The first figure is of live bytes. */
		CHECK_MSG(fabs(mean - truth) <= 5 * number_of(at, "mean_error"), "%.30s: %g of %g",
		          at, mean, truth);
		schemes++;
	}
	CHECK_EQ_I64(schemes, 7);
}

TEST(sizes_come_from_a_file_too_and_bad_ones_are_named)
{
	char path[] = "/tmp/geiger-sizes-XXXXXX", line[200];
	int fd = mkstemp(path);

	if (!CHECK(fd >= 0))
		return;
	dprintf(fd, "# SIZE COUNT LIVE GROUP\n64 10000 100\n1KiB 500 500 1\n\n8k\n");
	snprintf(line, sizeof(line), "compare --sizes %s --interval 4KiB --runs 20 --json", path);
	CHECK_EQ_DOUBLE(number_of(lab(line, 0), "allocations"), 10501);
	dprintf(fd, "64 10 11\n");
	CHECK_CONTAINS(lab(line, 1), ":6: not a line of sizes");
	close(fd);
	unlink(path);
	CHECK_CONTAINS(lab("compare", 2), "--sizes is not given");
	CHECK_CONTAINS(lab("compare --sizes lognormal:sigma=x", 2), "out of range");
	CHECK_CONTAINS(lab("compare --sizes lognormal:colour=1", 2), "the parts are");
	CHECK_CONTAINS(lab("compare --sizes /nonexistent", 1), "No such file");
}

/* Small blocks: z sqrt(R/H) = e, so R = H (e/z)^2. */
TEST(a_plan_has_the_interval_that_theory_gives_for_the_error)
{
	const char *json = lab("plan --heap 4GiB --size 16 --rate 1GiB --error 5% --no-cost --json",
	                       0);
	double interval = 0x1p32 * pow(0.05 / 1.959964, 2);

	/* Two binary digits after the first. */
	CHECK(number_of(json, "interval_bytes") <= interval);
	CHECK(number_of(json, "interval_bytes") > 0.8 * interval);
	CHECK(number_of(json, "expected_error") <= 0.05);
	CHECK(fabs(number_of(json, "samples_per_second") * number_of(json, "interval_bytes") /
	                   0x1p30 -
	           1) < 1e-3);
	CHECK_CONTAINS(lab("plan --error 5%", 2), "give either --heap or --profile");
	CHECK_CONTAINS(lab("plan --heap 1GiB", 2), "--error is not given");
	CHECK_CONTAINS(lab("plan --heap 1GiB --error none", 2), "'none' is no error");
	CHECK_CONTAINS(lab("plan --heap 1GiB --error 5% --function f", 2), "no functions");
}

TEST(tables_and_help_fit_80_columns)
{
	static const char *const lines[] = { "error",
		                             "error --size 3GiB",
		                             "table",
		                             "--help",
		                             "error --help",
		                             "table --help",
		                             "compare --sizes lognormal:count=2000 --runs 20",
		                             "compare --help",
		                             "plan --help",
		                             "plan --heap 1GiB --error 1% --no-cost",
		                             "optimal --help" };

	for (size_t i = 0; i < GG_COUNT(lines); i++) {
		size_t column = 0;

		for (const char *p = lab(lines[i], 0); *p != '\0'; p++) {
			column = *p == '\n' ? 0 : column + 1;
			CHECK_MSG(column <= 80, "%s", lines[i]);
		}
	}
}
