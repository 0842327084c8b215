/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of twenty call sites whose truth is known, recorded with many seeds: every report must
 * hold it as often as it says.
 *
 * The names come from the program itself (tests/sites/sites.h): frames whose address is in a site's
 * code are given its name, so that the test needs no debug information.  Each site is a row by
 * function with self and total, a row of its line, and the whole of a report focused on it; modules
 * and sizes have the sums of their sites.  Per cell (a site, a metric, a quantity) the truth must
 * be inside in 95 % of the runs that show the row, less 4 sigma; over all cells of a kind, less 3.
 *
 * SITES_RUNS: how many seeds.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "query/query.h"
#include "stats/estimate/interval.h"
#include "test.h"

enum { SITES = 20, CLASSES = 64, CONFIDENCE_PERCENT = 95 };

struct truth {
	char name[32], module[32];
	uint64_t from, to;            /* addresses in the module */
	double live[2], allocated[2]; /* bytes, count */
};

static struct truth truths[SITES];
static struct gg_error error;
static char directory[] = "/tmp/sites-XXXXXX", profile_path[64];

/* How often a row was shown, and how often its interval held the truth. */
struct cell {
	unsigned shown, held;
};

static struct cell self_cells[3][2][SITES], total_cells[3][2][SITES], line_cells[SITES];
static struct cell focus_cells[SITES], module_cells[2], size_cells[CLASSES];

static const enum gg_metric metrics[] = { GG_METRIC_LIVE, GG_METRIC_ALLOCATED, GG_METRIC_FREED };

static double truth_of(const struct truth *truth, enum gg_metric metric, enum gg_quantity quantity)
{
	if (metric == GG_METRIC_LIVE)
		return truth->live[quantity];
	if (metric == GG_METRIC_ALLOCATED)
		return truth->allocated[quantity];
	return truth->allocated[quantity] - truth->live[quantity];
}

static bool must(int status)
{
	return CHECK_MSG(status >= 0, "%s: %s", error.place, error.message);
}

/* Records the program with a seed; what it printed becomes the truths. */
static bool record(unsigned seed)
{
	char number[16];
	const char *argv[] = { getenv("GEIGER"),
		               "record",
		               "-q",
		               "--seed",
		               number,
		               "-i",
		               "64KiB",
		               "-o",
		               profile_path,
		               "--",
		               getenv("SITES_PROGRAM"),
		               getenv("SITES_PLUGIN"),
		               NULL };
	struct child child;
	unsigned count = 0;
	bool fine;

	snprintf(number, sizeof(number), "%u", seed);
	unlink(profile_path);
	fine = CHECK(child_run(&child, argv, NULL, 120)) &&
	       CHECK_MSG(child.exit_status == 0, "seed %u: status %d: %s", seed, child.exit_status,
	                 gg_buf_text(&child.err));
	for (const char *at = gg_buf_text(&child.out); fine && count < SITES; count++) {
		struct truth *truth = &truths[count];
		unsigned long long from, to;

		if (sscanf(at, "site %31s %31s %llx %llx %lf %lf %lf %lf", truth->name,
		           truth->module, &from, &to, &truth->live[0], &truth->live[1],
		           &truth->allocated[0], &truth->allocated[1]) != 8)
			break;
		truth->from = from;
		truth->to = to;
		at = strchr(at, '\n') + 1;
	}
	child_done(&child);
	return fine && CHECK_MSG(count == SITES, "%u sites", count);
}

struct naming {
	struct gg_profile *profile;
	char modules[64][32];
	struct gg_profile_frame frames[4096];
	size_t frame_count;
};

static int keep_module(const struct gg_profile_module *module, void *context)
{
	struct naming *naming = context;
	const char *name = module->path != NULL ? strrchr(module->path, '/') : NULL;

	if (module->id < 64 && name != NULL)
		snprintf(naming->modules[module->id], 32, "%.31s", name + 1);
	return 0;
}

static int keep_frame(const struct gg_profile_frame *frame, void *context)
{
	struct naming *naming = context;

	if (naming->frame_count < GG_COUNT(naming->frames))
		naming->frames[naming->frame_count++] = *frame;
	return 0;
}

/* Names as debug information would: the site, and for the inlined one its caller behind it. */
static void name_frame(struct naming *naming, const struct gg_profile_frame *frame)
{
	for (uint32_t i = 0; i < SITES && frame->module < 64; i++) {
		const struct truth *truth = &truths[i];
		struct gg_profile_line lines[2] = { { .frame = frame->id,
			                              .function = truth->name,
			                              .file = "sites.c",
			                              .line = i + 1 } };
		bool is_inlined = strcmp(truth->name, "inlined") == 0;

		if (strcmp(naming->modules[frame->module], truth->module) != 0 ||
		    frame->address < truth->from || frame->address >= truth->to)
			continue;
		lines[0].inlined = is_inlined;
		lines[1] = (struct gg_profile_line){ .frame = frame->id,
			                             .depth = 1,
			                             .function = "caller" };
		must(gg_profile_put_lines(naming->profile, frame->id, lines, is_inlined ? 2 : 1,
		                          &error));
	}
}

static bool name_frames(void)
{
	static struct naming naming;

	naming = (struct naming){ 0 };
	if (!must(gg_profile_edit(&naming.profile, profile_path, &error)))
		return false;
	must(gg_profile_each_module(naming.profile, keep_module, &naming, &error));
	must(gg_profile_each_frame(naming.profile, keep_frame, &naming, &error));
	for (size_t i = 0; i < naming.frame_count; i++)
		name_frame(&naming, &naming.frames[i]);
	must(gg_profile_finish(naming.profile, &error));
	gg_profile_close(naming.profile);
	return true;
}

/* operator new of a C++ library without names. */
static bool is_entry(const char *function, const char *module)
{
	(void)function;
	return module != NULL &&
	       (strstr(module, "libstdc++") != NULL || strstr(module, "libgeiger-agent") != NULL);
}

static void count(struct cell *cell, const struct gg_tally *tally, enum gg_quantity quantity,
                  double truth, bool discovered)
{
	struct gg_interval interval = gg_interval_of(tally, quantity, CONFIDENCE_PERCENT / 100.0,
	                                             discovered);

	if (quantity == GG_ALLOCATIONS && tally->sample_count == 0)
		return; /* no bound, nothing to hold */
	cell->shown++;
	cell->held += interval.low <= truth && truth <= interval.high;
}

static int find_site(const char *name)
{
	for (int i = 0; i < SITES; i++)
		if (strcmp(truths[i].name, name) == 0)
			return i;
	return -1;
}

static struct gg_query_result *ask(const struct gg_model *model, const struct gg_query *query)
{
	struct gg_query_result *result = NULL;

	must(gg_query_rows(model, query, &result, &error));
	return result;
}

static void count_functions(const struct gg_model *model)
{
	for (int m = 0; m < 3; m++) {
		struct gg_query query;
		struct gg_query_result *result;

		gg_query_init(&query);
		query.metric = metrics[m];
		result = ask(model, &query);
		for (size_t i = 0; i < result->row_count; i++) {
			const struct gg_query_row *row = &result->rows[i];
			int site = find_site(model->functions[row->key].name);

			for (int q = 0; q < 2 && site >= 0; q++) {
				double truth = truth_of(&truths[site], metrics[m],
				                        (enum gg_quantity)q);

				count(&self_cells[m][q][site], row->self, (enum gg_quantity)q,
				      truth, true);
				count(&total_cells[m][q][site], row->total, (enum gg_quantity)q,
				      truth, true);
			}
			/* Recursion: what it holds itself is all that it holds. */
			if (site >= 0)
				CHECK_MSG(row->self->sample_count == row->total->sample_count,
				          "%s: total is not self", truths[site].name);
		}
		gg_query_result_free(result);
	}
}

static void count_lines(const struct gg_model *model)
{
	struct gg_query query;
	struct gg_query_result *result;

	gg_query_init(&query);
	query.by = GG_BY_LINE;
	result = ask(model, &query);
	for (size_t i = 0; i < result->row_count; i++) {
		struct gg_model_line line = model->lines[result->rows[i].key];

		if (line.file != NULL && strcmp(line.file, "sites.c") == 0)
			count(&line_cells[line.line - 1], result->rows[i].self, GG_BYTES,
			      truths[line.line - 1].live[GG_BYTES], true);
	}
	gg_query_result_free(result);
}

/* Asked for by name, a site is there in every run, and needs no sample to be. */
static void count_focused(const struct gg_model *model)
{
	for (int i = 0; i < SITES; i++) {
		char expression[40];
		struct gg_query query;
		struct gg_query_result *result;

		gg_query_init(&query);
		snprintf(expression, sizeof(expression), "^%.31s$", truths[i].name);
		query.focus = expression;
		result = ask(model, &query);
		count(&focus_cells[i], &result->total, GG_BYTES, truths[i].live[GG_BYTES], false);
		gg_query_result_free(result);
	}
}

static void count_modules(const struct gg_model *model)
{
	struct gg_query query;
	struct gg_query_result *result;
	double truth = 0;

	gg_query_init(&query);
	query.by = GG_BY_MODULE;
	result = ask(model, &query);
	for (int i = 0; i < SITES; i++)
		if (strstr(truths[i].name, "plugin") != NULL)
			truth += truths[i].live[GG_BYTES];
	for (size_t i = 0; i < result->row_count; i++)
		if (strstr(model->modules[result->rows[i].key].path, "plugin") != NULL) {
			count(&module_cells[0], result->rows[i].self, GG_BYTES, truth, true);
			count(&module_cells[1], result->rows[i].total, GG_BYTES, truth, true);
		}
	gg_query_result_free(result);
}

static unsigned class_of(double size_bytes)
{
	return (unsigned)ceil(log2(size_bytes));
}

/* Only classes to which the runtime library adds nothing that counts: 72 KiB of it are in 17. */
static void count_sizes(const struct gg_model *model)
{
	double truth[CLASSES] = { 0 };
	struct gg_query query;
	struct gg_query_result *result;

	gg_query_init(&query);
	query.by = GG_BY_SIZE;
	result = ask(model, &query);
	for (int i = 0; i < SITES; i++)
		truth[class_of(truths[i].live[0] / truths[i].live[1])] += truths[i].live[0];
	for (size_t i = 0; i < result->row_count; i++) {
		uint32_t class = result->rows[i].key;

		if (class >= 12 && class != 17 && class < CLASSES && truth[class] > 0)
			count(&size_cells[class], result->rows[i].self, GG_BYTES, truth[class],
			      true);
	}
	gg_query_result_free(result);
}

/* Rows of one kind are the whole, whatever they are; the peak is no lower than the end. */
static void check_sums(const struct gg_model *model)
{
	struct gg_query query;
	struct gg_peak peak;
	double whole = 0;

	gg_query_init(&query);
	for (int by = 0; by < GG_GROUPING_COUNT; by++) {
		struct gg_query_result *result;
		double sum = 0;

		query.by = (enum gg_grouping)by;
		result = ask(model, &query);
		whole = gg_tally_estimate(&result->total, GG_BYTES).value;
		for (size_t i = 0; i < result->row_count; i++)
			sum += gg_tally_estimate(result->rows[i].self, GG_BYTES).value;
		CHECK_MSG(fabs(sum - whole) <= 1e-9 * whole, "rows %d: %g of %g", by, sum, whole);
		gg_query_result_free(result);
	}
	CHECK(gg_query_peak(model, &query, &peak, &error) == 0 && peak.bytes >= whole * 0.999);
}

static bool run(unsigned seed)
{
	const struct gg_model_options options = { .is_entry = is_entry };
	struct gg_profile *profile;
	struct gg_model *model;

	if (!record(seed) || !name_frames() ||
	    !must(gg_profile_open(&profile, profile_path, &error)))
		return false;
	if (!must(gg_model_load(&model, &profile, 1, &options, &error)))
		return false;
	gg_profile_close(profile);
	count_functions(model);
	count_lines(model);
	count_focused(model);
	count_modules(model);
	count_sizes(model);
	check_sums(model);
	gg_model_free(model);
	return true;
}

/* Each cell within 4 sigma, all of them together within 3. */
static void check(const struct cell *cells, size_t cell_count, const char *what)
{
	const double p = CONFIDENCE_PERCENT / 100.0;
	struct cell all = { 0 };

	for (size_t i = 0; i < cell_count; i++) {
		double shown = cells[i].shown;

		all.shown += cells[i].shown;
		all.held += cells[i].held;
		CHECK_MSG(cells[i].held >= shown * p - 4 * sqrt(shown * p * (1 - p)),
		          "%s %s: %u of %u", what, i < SITES ? truths[i].name : "", cells[i].held,
		          cells[i].shown);
	}
	CHECK_MSG(all.held >= all.shown * p - 3 * sqrt(all.shown * p * (1 - p)), "%s: %u of %u",
	          what, all.held, all.shown);
	printf("%s: %u of %u intervals hold the truth (%.1f %%)\n", what, all.held, all.shown,
	       100.0 * all.held / all.shown);
}

TEST(every_report_holds_the_truth_as_often_as_it_says)
{
	static const char *const quantities[] = { "bytes", "count" };
	static const char *const names[] = { "live", "allocated", "freed" };
	const char *wish = getenv("SITES_RUNS");
	unsigned runs = wish != NULL ? (unsigned)strtoul(wish, NULL, 10) : 5;
	char what[64];

	if (!CHECK(mkdtemp(directory) != NULL))
		return;
	snprintf(profile_path, sizeof(profile_path), "%s/sites.geiger", directory);
	for (unsigned seed = 1; seed <= runs; seed++)
		if (!run(seed))
			break;
	for (int m = 0; m < 3; m++)
		for (int q = 0; q < 2; q++) {
			snprintf(what, sizeof(what), "%s %s, self", names[m], quantities[q]);
			check(self_cells[m][q], SITES, what);
			snprintf(what, sizeof(what), "%s %s, total", names[m], quantities[q]);
			check(total_cells[m][q], SITES, what);
		}
	check(line_cells, SITES, "live bytes by line");
	check(focus_cells, SITES, "live bytes of a name");
	check(module_cells, 2, "live bytes by module");
	check(size_cells, CLASSES, "live bytes by size");
	unlink(profile_path);
	rmdir(directory);
}
