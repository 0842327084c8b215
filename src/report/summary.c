/* SPDX-License-Identifier: Apache-2.0 */
#include "report/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adds a part that may be unknown. */
static void add_known(double *sum, int64_t bytes)
{
	if (bytes >= 0)
		*sum = (*sum > 0 ? *sum : 0) + (double)bytes;
}

/* Did the process run at the moment?  At the end each one counts as it was at its own end. */
static bool is_there(const struct gg_process *process, int64_t moment_ns)
{
	return moment_ns == GG_TIME_NONE ||
	       (process->start_ns <= moment_ns && process->end_ns > moment_ns);
}

/* The last reading of each process up to the moment. */
static int read_resident(struct gg_resident *resident, const struct gg_model *model, uint32_t pid,
                         int64_t moment_ns)
{
	size_t count, process_count;
	const struct gg_memory *memory = gg_model_memory(model, &count);
	const struct gg_process *processes = gg_model_processes(model, &process_count);
	const struct gg_memory **last = calloc(process_count, sizeof(*last));

	*resident = (struct gg_resident){
		.rss = -1, .anonymous = -1, .file = -1, .stack = -1, .swap = -1
	};
	if (last == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (memory[i].time_ns <= moment_ns && memory[i].rss_bytes > 0)
			last[memory[i].process] = &memory[i];
	for (size_t i = 1; i < process_count; i++) {
		if (last[i] == NULL || (pid != 0 && processes[i].pid != pid) ||
		    !is_there(&processes[i], moment_ns))
			continue;
		resident->process_count++;
		add_known(&resident->rss, last[i]->rss_bytes);
		add_known(&resident->anonymous, last[i]->anonymous_bytes);
		add_known(&resident->file, last[i]->file_bytes);
		add_known(&resident->file, last[i]->shared_bytes);
		add_known(&resident->stack, last[i]->stack_bytes);
		add_known(&resident->swap, last[i]->swap_bytes);
		if (last[i]->time_ns > resident->time_ns)
			resident->time_ns = last[i]->time_ns;
	}
	free(last);
	return 0;
}

static uint64_t count_dropped(const struct gg_model *model)
{
	size_t count;
	const struct gg_model_counter *counters = gg_model_counters(model, &count);
	uint64_t dropped = 0;

	for (size_t i = 0; i < count; i++)
		if (counters[i].name != NULL && strncmp(counters[i].name, "drop", 4) == 0)
			dropped += counters[i].value;
	return dropped;
}

static int add_peak(struct gg_summary *summary, const struct gg_model *model,
                    struct gg_question *query, struct gg_error *error)
{
	struct gg_peak peak;
	int code = gg_ask_peak(model, query, &peak, error);

	if (code < 0)
		return code;
	summary->has_peak = true;
	summary->peak_ns = peak.time_ns;
	query->to_ns = peak.time_ns;
	return gg_ask_live_at(model, query, &peak.time_ns, 1, &summary->peak, error);
}

int gg_summary_of(struct gg_summary *summary, const struct gg_model *model,
                  const struct gg_question *query, struct gg_error *error)
{
	struct gg_question all;
	struct gg_sum_up sum;
	int code;

	gg_question_init(&all);
	all.pid = query->pid;
	*summary = (struct gg_summary){ .moment_ns = GG_TIME_NONE };
	summary->sample_count = gg_model_sample_total(model);
	summary->dropped_count = count_dropped(model);
	summary->interval = gg_model_interval(model, 0);
	summary->unresolved = gg_model_unresolved(model);
	all.metric = GG_METRIC_ALLOCATED;
	code = gg_ask_sum(model, &all, &sum, error);
	if (code < 0)
		return code;
	summary->allocated = sum.total;
	all.metric = GG_METRIC_LIVE;
	if (gg_model_has_history(model))
		code = add_peak(summary, model, &all, error);
	if (code < 0)
		return code;
	if (query->metric == GG_METRIC_LIVE && query->to_ns < gg_model_end_ns(model))
		summary->moment_ns = query->to_ns;
	all.to_ns = summary->moment_ns;
	code = gg_ask_sum(model, &all, &sum, error);
	if (code < 0)
		return code;
	summary->live = sum.total;
	if (read_resident(&summary->resident, model, query->pid, summary->moment_ns) < 0 ||
	    read_resident(&summary->at_peak, model, query->pid, summary->peak_ns) < 0)
		return gg_error_set_errno(error, ENOMEM, "report", NULL);
	if (summary->resident.process_count == 1 && gg_model_has_history(model)) {
		all.to_ns = summary->resident.time_ns;
		code = gg_ask_sum(model, &all, &sum, error);
	}
	summary->live_then = sum.total;
	summary->slack_bytes = sum.slack_bytes;
	summary->mapping_bytes = sum.mapping_bytes;
	return code;
}

double gg_summary_rest(const struct gg_summary *summary)
{
	const struct gg_resident *resident = &summary->resident;
	double rest = resident->rss;

	rest -= gg_tally_estimate(&summary->live_then, GG_BYTES).value + summary->slack_bytes;
	rest -= resident->file > 0 ? resident->file : 0;
	return rest - (resident->stack > 0 ? resident->stack : 0);
}
