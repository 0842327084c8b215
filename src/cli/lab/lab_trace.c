/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab_trace - makes traces from laws, reads them from files, and takes them from profiles.
 *
 * A trace is a list of parts: allocations of one size, one group and one fate (live or freed).
 * Traces from profiles are only as good as the recording: a size that was never sampled is missing
 * from them.
 */
#include "cli/lab/lab_trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#if GG_HAS_PROFILE
#include "cli/profiles.h"
#include "stats/sampling/weight.h"
#endif

enum {
	PIECES = 32,      /* the number of pieces of each part, so that sizes are mixed */
	GROUPS_MAX = 100, /* of a profile: the largest functions; another group has the rest */
	LINE_MAX_BYTES = 256,
};

static int fail(struct gg_error *error, const char *place, const char *what)
{
	return gg_error_set(error, -EINVAL, place, "See geiger lab compare --help.", "%s", what);
}

/* --- laws ------------------------------------------------------------------------------------ */

struct law {
	double median, sigma, count, live, groups;
};

static int read_law(const char *text, struct law *law, struct gg_error *error)
{
	const struct {
		const char *name;
		double *value, least, most;
	} parts[] = {
		{ "median", &law->median, 1, 1e12 }, { "sigma", &law->sigma, 0, 10 },
		{ "count", &law->count, 1, 10e6 },   { "live", &law->live, 0, 1 },
		{ "groups", &law->groups, 1, 1000 },
	};

	while (*text != '\0') {
		const char *equals = strchr(text, '=');
		size_t length = equals != NULL ? (size_t)(equals - text) : 0, i;
		char *end;

		for (i = 0; i < GG_COUNT(parts); i++)
			if (strlen(parts[i].name) == length &&
			    strncmp(parts[i].name, text, length) == 0)
				break;
		if (i == GG_COUNT(parts))
			return fail(error, text,
			            "the parts are median, sigma, count, live, groups");
		*parts[i].value = strtod(equals + 1, &end);
		if (end == equals + 1 || (*end != ',' && *end != '\0') ||
		    !(*parts[i].value >= parts[i].least && *parts[i].value <= parts[i].most))
			return fail(error, text, "the number is none, or out of range");
		text = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/*
 * Draws from the normal distribution (Box and Muller 1958).  An exponential number is
 * -log(uniform).
 */
static double normal(struct gg_rng *rng)
{
	return sqrt(2 * gg_rng_exponential(rng)) * cos(2 * M_PI * gg_rng_uniform(rng));
}

static int make_lognormal(struct gg_trace *trace, const char *text, uint64_t seed,
                          struct gg_error *error)
{
	struct law law = { 64, 2, 100e3, 0.1, 10 };
	struct gg_rng rng;
	int status = read_law(text, &law, error);

	gg_rng_seed(&rng, seed, 1);
	for (double i = 0; status == 0 && i < law.count; i++) {
		double size = floor(law.median * exp(law.sigma * normal(&rng)));
		struct gg_trace_part part = {
			.size_bytes = (uint64_t)fmin(size, 0x1p40),
			.count = 1,
			.group = (uint32_t)gg_rng_below(&rng, (uint64_t)law.groups),
			.is_live = gg_rng_uniform(&rng) < law.live,
		};

		if (gg_trace_add(trace, &part) < 0)
			status = gg_error_memory(error, "lab");
	}
	return status;
}

/*
 * Makes a server of 8 GB: 999 of 1000 bytes are in sizes with a survival of 1e-5, and the rest are
 * in sizes with a survival of 1/2.
 */
static int make_server(struct gg_trace *trace, struct gg_error *error)
{
	static const uint64_t young[] = { 32, 96, 256, 1024, 4096 };
	static const uint64_t old[] = { 48, 160, 640, 2560 };
	const double bytes = 8e9;

	for (uint32_t i = 0; i < GG_COUNT(young) + GG_COUNT(old); i++) {
		bool is_young = i < GG_COUNT(young);
		uint64_t size = is_young ? young[i] : old[i - GG_COUNT(young)];
		double share = is_young ? 0.999 / GG_COUNT(young) : 0.001 / GG_COUNT(old);
		double survival = is_young ? 1e-5 : 0.5;
		uint64_t count = (uint64_t)(bytes * share / (double)size);
		uint64_t live = (uint64_t)((double)count * survival + 0.5);
		/* Each size is a group with two parts: the live blocks and the freed ones. */
		struct gg_trace_part part = { size, live, i, true };

		if (gg_trace_add(trace, &part) < 0)
			return gg_error_memory(error, "lab");
		part.count = count - live;
		part.is_live = false;
		if (gg_trace_add(trace, &part) < 0)
			return gg_error_memory(error, "lab");
	}
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

/*
 * Reads a line SIZE [COUNT [LIVE [GROUP]]]. gg_size_parse() reads all four numbers, so each may
 * have a unit.  Blank lines and lines that begin with # are skipped.
 */
static int read_line(struct gg_trace *trace, char *line)
{
	uint64_t values[4] = { 0, 1, 0, 0 };
	char *rest = NULL, *word = strtok_r(line, " \t\r\n", &rest);
	struct gg_trace_part part;

	if (word == NULL || *word == '#')
		return 0;
	for (size_t i = 0; word != NULL; i++, word = strtok_r(NULL, " \t\r\n", &rest))
		if (i >= GG_COUNT(values) || gg_size_parse(word, &values[i]) < 0)
			return -EINVAL;
	if (values[2] > values[1] || values[3] >= 1000 || values[0] > UINT64_C(1) << 48)
		return -EINVAL;
	part = (struct gg_trace_part){ values[0], values[2], (uint32_t)values[3], true };
	if (gg_trace_add(trace, &part) < 0)
		return -ENOMEM;
	part.count = values[1] - values[2];
	part.is_live = false;
	return gg_trace_add(trace, &part);
}

static int read_file(struct gg_trace *trace, const char *path, struct gg_error *error)
{
	char line[LINE_MAX_BYTES], place[512];
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	int status = 0;

	if (file == NULL)
		return gg_error_set_errno(error, errno, path,
		                          "Give a law, a file of sizes or a profile.");
	for (int number = 1; status == 0 && fgets(line, sizeof(line), file) != NULL; number++) {
		status = read_line(trace, line);
		snprintf(place, sizeof(place), "%s:%d", path, number);
	}
	if (status == -EINVAL)
		gg_error_set(error, -EBADMSG, place,
		             "A line is SIZE [COUNT [LIVE [GROUP]]], LIVE at most COUNT, GROUP "
		             "below 1000.",
		             "not a line of sizes");
	else if (status < 0)
		gg_error_memory(error, "lab");
	if (file != stdin)
		fclose(file);
	return status == -EINVAL ? -EBADMSG : status;
}

/* --- profiles -------------------------------------------------------------------------------- */

#if GG_HAS_PROFILE
static bool is_profile(const char *path)
{
	char start[16] = { 0 };
	FILE *file = fopen(path, "re");
	size_t length = file != NULL ? fread(start, 1, sizeof(start), file) : 0;

	if (file != NULL)
		fclose(file);
	/* A profile is an SQLite database; its first 16 bytes are this text and a 0 byte. */
	return length == sizeof(start) && memcmp(start, "SQLite format 3", 16) == 0;
}

/* Returns the innermost function of a stack, without the allocator's own functions. */
static uint32_t function_of(const struct gg_model *model, uint32_t stack)
{
	size_t count;

	return gg_model_stack_locations(model, model->stacks[stack].top, &count)[0].function;
}

struct rank {
	uint32_t function;
	double bytes;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/*
 * Returns groups[function]: 0 to GROUPS_MAX - 1 for the largest functions, GROUPS_MAX for all
 * others.
 */
static uint32_t *rank_functions(const struct gg_model *model)
{
	size_t count = model->function_count;
	const struct gg_model_sample *samples = model->samples;
	struct rank *ranks = calloc(count + 1, sizeof(*ranks));
	uint32_t *groups = calloc(count + 1, sizeof(*groups));

	if (ranks == NULL || groups == NULL) {
		free(ranks);
		free(groups);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		ranks[i].function = (uint32_t)i;
		groups[i] = GROUPS_MAX;
	}
	for (size_t i = 0; i < model->sample_count; i++)
		ranks[function_of(model, samples[i].stack)].bytes += samples[i].weighted_bytes;
	qsort(ranks, count, sizeof(*ranks), compare_ranks);
	for (uint32_t i = 0; i < GROUPS_MAX && i < count; i++)
		groups[ranks[i].function] = i;
	free(ranks);
	return groups;
}

static int find_peak(const struct gg_model *model, int64_t *ret_ns, struct gg_error *error)
{
	struct gg_query question;
	struct gg_query_result *result;
	int status;

	gg_query_init(&question);
	question.metric = GG_METRIC_PEAK;
	question.by = GG_BY_PROCESS;
	status = gg_query_rows(model, &question, &result, error);
	if (status < 0)
		return status;
	*ret_ns = result->moment_ns;
	gg_query_result_free(result);
	return 0;
}

static bool is_live_at(const struct gg_model_sample *sample, int64_t moment_ns)
{
	return sample->alloc_ns <= moment_ns &&
	       (sample->free_ns == GG_TIME_NONE || sample->free_ns > moment_ns);
}

/*
 * Adds the aggregates and the samples of a profile to the trace.  Counts are rounded, because a
 * part has a whole number of allocations.
 */
static int read_samples(struct gg_trace *trace, const struct gg_model *model,
                        const uint32_t *groups, int64_t moment_ns)
{
	const struct gg_model_sample *samples = model->samples;
	const struct gg_profile_aggregate *aggregates = model->aggregates;
	int status = 0;

	for (size_t i = 0; status == 0 && i < model->aggregate_count; i++) {
		/*
		 * An aggregate has no sizes of its own, so its mean size stands for all of its
		 * allocations.
		 */
		double number = gg_fixed_value(aggregates[i].sums.count);
		double bytes = gg_fixed_value(aggregates[i].sums.bytes);

		if (number >= 1 && !aggregates[i].is_inherited)
			status = gg_trace_add(
				trace,
				&(struct gg_trace_part){
					.size_bytes = (uint64_t)(bytes / number + 0.5),
					.count = (uint64_t)(number + 0.5),
					.group = groups[function_of(model, aggregates[i].stack)] });
	}
	for (size_t i = 0; status == 0 && i < model->sample_count; i++) {
		const struct gg_model_sample *sample = &samples[i];
		struct gg_weight weight = gg_weight_of(&sample->draw, sample->size_bytes);

		/*
		 * An inherited block was allocated by another process, whose sample is in the trace
		 * already.
		 */
		if (!(sample->flags & GG_MODEL_INHERITED))
			status = gg_trace_add(
				trace, &(struct gg_trace_part){
					       .size_bytes = sample->size_bytes,
					       .count = (uint64_t)(weight.count + 0.5),
					       .group = groups[function_of(model, sample->stack)],
					       .is_live = is_live_at(sample, moment_ns) });
	}
	return status;
}

void gg_lab_trace_names_free(char **names, uint32_t count)
{
	for (uint32_t i = 0; names != NULL && i < count; i++)
		free(names[i]);
	free(names);
}

static char **name_groups(const struct gg_model *model, const uint32_t *groups, uint32_t count)
{
	char **names = calloc(count + 1, sizeof(*names));

	for (uint32_t i = 0; names != NULL && i < model->function_count; i++)
		if (groups[i] < count && names[groups[i]] == NULL)
			names[groups[i]] = strdup(groups[i] < GROUPS_MAX ? model->functions[i].name
			                                                 : "(all others)");
	return names;
}

int gg_lab_trace_profile(struct gg_trace *ret_trace, const char *path, bool at_peak,
                         char ***ret_names, double *ret_interval, struct gg_error *error)
{
	struct gg_trace trace = { 0 };
	/* The last moment before "never": a block is live then if it was never freed. */
	int64_t moment_ns = GG_TIME_NONE - 1;
	struct gg_model *model;
	uint32_t *groups;
	int status = gg_cli_load(&model, path, &(struct gg_frame_selection){ 0 }, error);

	if (status < 0)
		return status;
	if (at_peak)
		status = find_peak(model, &moment_ns, error);
	groups = rank_functions(model);
	if (groups == NULL || read_samples(&trace, model, groups, moment_ns) < 0)
		status = gg_error_memory(error, "lab");
	else if (status == 0 && trace.parts.count == 0)
		status = gg_error_set(error, -EBADMSG, path, "Record with a smaller interval.",
		                      "no samples");
	if (status == 0 && ret_names != NULL)
		*ret_names = name_groups(model, groups, trace.group_count);
	if (status == 0 && ret_interval != NULL)
		*ret_interval = fmax(gg_model_interval(model, 0), 1);
	free(groups);
	gg_model_free(model);
	if (status < 0)
		gg_trace_done(&trace);
	else
		*ret_trace = trace;
	return status;
}
#else
static bool is_profile(const char *path)
{
	(void)path;
	return false;
}

int gg_lab_trace_profile(struct gg_trace *ret_trace, const char *path, bool at_peak,
                         char ***ret_names, double *ret_interval, struct gg_error *error)
{
	(void)ret_trace;
	(void)at_peak;
	(void)ret_names;
	(void)ret_interval;
	return fail(error, path, "this geiger was built without profiles");
}
#endif

static int load(struct gg_trace *trace, const char *text, uint64_t seed, struct gg_error *error)
{
	if (strcmp(text, "lognormal") == 0)
		return make_lognormal(trace, "", seed, error);
	if (strncmp(text, "lognormal:", 10) == 0)
		return make_lognormal(trace, text + 10, seed, error);
	if (strcmp(text, "server") == 0)
		return make_server(trace, error);
	return is_profile(text) ? gg_lab_trace_profile(trace, text, true, NULL, NULL, error)
	                        : read_file(trace, text, error);
}

int gg_lab_trace_load(struct gg_trace *ret_trace, const char *text, uint64_t seed,
                      struct gg_error *error)
{
	struct gg_trace trace = { 0 };
	int status = load(&trace, text, seed, error);

	if (status == 0 && trace.parts.count == 0)
		status = gg_error_set(error, -EBADMSG, text, "It must have at least one.",
		                      "no allocations");
	/*
	 * A program allocates blocks of different sizes in turn.  Without mixing, each size would
	 * come in one run, and schemes that depend on the order would look better or worse than
	 * they are.
	 */
	if (status == 0 && gg_trace_mix(&trace, PIECES, seed) < 0)
		status = gg_error_memory(error, "lab");
	if (status < 0)
		gg_trace_done(&trace);
	else
		*ret_trace = trace;
	return status;
}
