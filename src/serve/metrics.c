/* SPDX-License-Identifier: Apache-2.0 */
/* metrics - sums each process's memory, and writes one family of metrics after the other. */
#include "serve/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "query/query.h"
#include "record/process/proc_file.h"
#include "stats/estimate/interval.h"

/* A value with the ends of its confidence interval; an end that is unknown is NAN. */
struct metric_figure {
	double value, low, high;
};

struct metric_process {
	uint32_t number;
	struct metric_figure live_bytes, live_count, allocated_bytes, allocated_count;
	double rss_bytes, own_bytes, interval_bytes; /* NAN: unknown */
};

struct metrics {
	const struct gg_model *model;
	struct metric_process *processes;
	size_t count;
	struct gg_buf *out;
};

static struct metric_figure figure_of(const struct gg_tally *tally, enum gg_quantity quantity,
                                      double confidence)
{
	struct gg_interval interval = gg_interval_of(tally, quantity, confidence, false);

	return (struct metric_figure){ gg_tally_estimate(tally, quantity).value, interval.low,
		                       interval.high };
}

/* Finds the last reading of a process's memory in the model. */
static void read_memory(const struct gg_model *model, bool is_running, struct metric_process *to)
{
	uint32_t pid = model->processes[to->number].pid;
	int64_t rss_bytes;

	to->rss_bytes = to->own_bytes = NAN;
	for (size_t i = 0; i < model->memory_count; i++) {
		const struct gg_profile_memory *memory = &model->memory[i];

		if (memory->process != to->number || memory->rss_bytes < 0)
			continue;
		to->rss_bytes = (double)memory->rss_bytes;
		to->own_bytes = memory->geiger_bytes >= 0 ? (double)memory->geiger_bytes : NAN;
	}
	if (!is_running)
		return;
	rss_bytes = gg_proc_file_rss_bytes(pid);
	if (rss_bytes > 0)
		to->rss_bytes = (double)rss_bytes;
}

static int sum_process(const struct gg_model *model, double confidence, bool is_running,
                       struct metric_process *to, struct gg_error *error)
{
	struct gg_sum_up live, allocated;
	struct gg_query query;
	int status;

	gg_query_init(&query);
	query.pid = model->processes[to->number].pid;
	query.metric = GG_METRIC_LIVE;
	status = gg_query_sum(model, &query, &live, error);
	query.metric = GG_METRIC_ALLOCATED;
	if (status == 0)
		status = gg_query_sum(model, &query, &allocated, error);
	if (status < 0)
		return status;
	to->live_bytes = figure_of(&live.total, GG_BYTES, confidence);
	to->live_count = figure_of(&live.total, GG_ALLOCATIONS, confidence);
	to->allocated_bytes = figure_of(&allocated.total, GG_BYTES, confidence);
	to->allocated_count = figure_of(&allocated.total, GG_ALLOCATIONS, confidence);
	to->interval_bytes = gg_model_interval(model, to->number);
	read_memory(model, is_running, to);
	return 0;
}

/* True if an earlier process of the model has the same pid: the query sums both. */
static bool is_repeated(const struct metrics *metrics, uint32_t number)
{
	for (size_t i = 0; i < metrics->count; i++)
		if (metrics->model->processes[metrics->processes[i].number].pid ==
		    metrics->model->processes[number].pid)
			return true;
	return false;
}

/* --- text ----------------------------------------------------------------------------------- */

static void put_labels(struct metrics *metrics, uint32_t number, const char *reason)
{
	const struct gg_profile_process *process = &metrics->model->processes[number];

	gg_buf_printf(metrics->out, "{pid=\"%u\",program=\"", process->pid);
	gg_buf_append_label(metrics->out, process->exe != NULL ? gg_path_base(process->exe) : "");
	if (reason != NULL) {
		gg_buf_append_text(metrics->out, "\",reason=\"");
		gg_buf_append_label(metrics->out, reason);
	}
	gg_buf_append_text(metrics->out, "\"} ");
}

static void put_head(struct gg_buf *out, const char *name, const char *type, const char *unit,
                     const char *help)
{
	gg_buf_printf(out, "# TYPE %s %s\n", name, type);
	if (unit != NULL)
		gg_buf_printf(out, "# UNIT %s %s\n", name, unit);
	gg_buf_printf(out, "# HELP %s %s\n", name, help);
}

/* Writes a family with one value for each process; unknown values are left out. */
static void put_family(struct metrics *metrics, const char *name, const char *type,
                       const char *unit, const char *help, size_t offset)
{
	put_head(metrics->out, name, type, unit, help);
	for (size_t i = 0; i < metrics->count; i++) {
		const struct metric_process *process = &metrics->processes[i];
		double value;

		memcpy(&value, (const char *)process + offset, sizeof(value));
		if (!isfinite(value))
			continue;
		gg_buf_printf(metrics->out, "%s%s", name,
		              strcmp(type, "counter") == 0 ? "_total" : "");
		put_labels(metrics, process->number, NULL);
		gg_buf_printf(metrics->out, "%.17g\n", value);
	}
}

#define PUT(name, type, unit, help, field) \
	put_family(metrics, name, type, unit, help, offsetof(struct metric_process, field))

static void put_memory(struct metrics *metrics)
{
	PUT("geiger_live_bytes", "gauge", "bytes", "Estimate of the live memory.",
	    live_bytes.value);
	PUT("geiger_live_low_bytes", "gauge", "bytes", "Lower end of its confidence interval.",
	    live_bytes.low);
	PUT("geiger_live_high_bytes", "gauge", "bytes", "Upper end of its confidence interval.",
	    live_bytes.high);
	PUT("geiger_live_allocations", "gauge", NULL, "Estimate of the live allocations.",
	    live_count.value);
	PUT("geiger_live_low_allocations", "gauge", NULL, "Lower end of its confidence interval.",
	    live_count.low);
	PUT("geiger_live_high_allocations", "gauge", NULL, "Upper end of its confidence interval.",
	    live_count.high);
	PUT("geiger_allocated_bytes", "counter", "bytes", "Estimate of all allocated memory.",
	    allocated_bytes.value);
	PUT("geiger_allocated_low_bytes", "gauge", "bytes", "Lower end of its confidence interval.",
	    allocated_bytes.low);
	PUT("geiger_allocated_high_bytes", "gauge", "bytes",
	    "Upper end of its confidence interval.", allocated_bytes.high);
	PUT("geiger_allocations", "counter", NULL, "Estimate of the number of all allocations.",
	    allocated_count.value);
	PUT("geiger_resident_memory_bytes", "gauge", "bytes", "Resident memory of the process.",
	    rss_bytes);
	PUT("geiger_own_resident_memory_bytes", "gauge", "bytes",
	    "Resident memory of the agent in the process.", own_bytes);
	PUT("geiger_sampling_interval_bytes", "gauge", "bytes", "Mean sampling interval.",
	    interval_bytes);
}

/* Writes counters of what found no room.  Two processes of one pid have one counter. */
static void put_drops(struct metrics *metrics)
{
	const struct gg_model *model = metrics->model;

	put_head(metrics->out, "geiger_drops", "counter", NULL,
	         "Samples, events and names that the agent dropped, by reason.");
	for (size_t i = 0; i < model->counter_count; i++) {
		const struct gg_model_counter *counter = &model->counters[i];
		uint64_t sum = 0;
		bool is_first = true;

		if (counter->name == NULL || strstr(counter->name, "dropped") == NULL)
			continue;
		for (size_t k = 0; k < model->counter_count; k++) {
			const struct gg_model_counter *other = &model->counters[k];

			if (other->name == NULL || strcmp(other->name, counter->name) != 0 ||
			    model->processes[other->process].pid !=
			            model->processes[counter->process].pid)
				continue;
			is_first &= k >= i;
			sum += other->value;
		}
		if (!is_first)
			continue;
		gg_buf_append_text(metrics->out, "geiger_drops_total");
		put_labels(metrics, counter->process, counter->name);
		gg_buf_printf(metrics->out, "%llu\n", (unsigned long long)sum);
	}
}

/* The cost of this server, by the names that exporters have for themselves. */
static void put_own(struct gg_buf *out)
{
	struct timespec used = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	put_head(out, "process_cpu_seconds", "counter", "seconds",
	         "Processor time of geiger serve.");
	gg_buf_printf(out, "process_cpu_seconds_total %.6f\n",
	              (double)used.tv_sec + (double)used.tv_nsec * 1e-9);
	put_head(out, "process_resident_memory_bytes", "gauge", "bytes",
	         "Resident memory of geiger serve.");
	gg_buf_printf(out, "process_resident_memory_bytes %lld\n",
	              (long long)gg_proc_file_rss_bytes((uint32_t)getpid()));
}

int gg_metrics_write(const struct gg_model *model, double confidence, bool is_running,
                     struct gg_buf *out, struct gg_error *error)
{
	struct metrics metrics = { .model = model, .out = out };
	int status = 0;

	metrics.processes = calloc(model->process_count + 1, sizeof(*metrics.processes));
	if (metrics.processes == NULL)
		return gg_error_memory(error, "serve");
	for (uint32_t i = 1; i < model->process_count && status == 0; i++) {
		struct metric_process *process = &metrics.processes[metrics.count];

		if (is_repeated(&metrics, i))
			continue;
		process->number = i;
		status = sum_process(model, confidence, is_running, process, error);
		metrics.count++;
	}
	if (status == 0) {
		put_memory(&metrics);
		put_drops(&metrics);
		put_own(out);
		gg_buf_append_text(out, "# EOF\n");
	}
	free(metrics.processes);
	return status;
}
