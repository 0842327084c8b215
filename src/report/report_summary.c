/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_summary.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"

/* Live memory may change by so much while it is read, and the reading is of one moment. */
static const double moment_bytes = 65536, moment_share = 0.01;

static bool is_asked_for(const struct gg_profile_process *process, uint32_t pid)
{
	return pid == 0 || process->pid == pid;
}

static bool is_about(double bytes, double other)
{
	double difference = bytes > other ? bytes - other : other - bytes;

	return difference <= moment_bytes + moment_share * (bytes > other ? bytes : other);
}

/* Compares a reading of RSS with the memory that was live from its begin to its end. */
static int compare_with_live(struct gg_report_summary *summary, const struct gg_model *model,
                             const struct gg_query *query, struct gg_error *error)
{
	const struct gg_resident *resident = &summary->resident;
	int64_t times[2] = { resident->time_ns, resident->time_ns + resident->span_ns };
	struct gg_tally tallies[2];
	int status;

	if (!gg_resident_is_whole(resident) || resident->span_ns < 0 || resident->rss < 0 ||
	    !gg_model_has_history(model))
		return 0;
	status = gg_query_live_at(model, query, times, GG_COUNT(times), tallies, error);
	summary->has_rest = status == 0 && is_about(gg_tally_estimate(&tallies[0], GG_BYTES).value,
	                                            gg_tally_estimate(&tallies[1], GG_BYTES).value);
	return status;
}

/* A reading when as much was live as at the peak: the nearest before it or after it. */
static int read_at_peak(struct gg_report_summary *summary, const struct gg_residents *residents,
                        const struct gg_model *model, const struct gg_query *query,
                        struct gg_error *error)
{
	struct gg_resident near[2] = { gg_resident_unknown, gg_resident_unknown };
	double peak = gg_tally_estimate(&summary->peak, GG_BYTES).value;

	for (size_t i = 0; i < residents->count && near[1].process_count == 0; i++)
		if (gg_resident_is_whole(&residents->rounds[i]))
			near[residents->rounds[i].time_ns > summary->peak_ns] =
				residents->rounds[i];
	for (int i = 0; i < 2; i++) {
		struct gg_tally tally;
		int status;

		if (near[i].process_count == 0)
			continue;
		status = gg_query_live_at(model, query, &near[i].time_ns, 1, &tally, error);
		if (status < 0)
			return status;
		if (is_about(gg_tally_estimate(&tally, GG_BYTES).value, peak) &&
		    (summary->at_peak.process_count == 0 ||
		     near[1].time_ns - summary->peak_ns < summary->peak_ns - near[0].time_ns))
			summary->at_peak = near[i];
	}
	return 0;
}

static int add_residents(struct gg_report_summary *summary, const struct gg_model *model,
                         const struct gg_query *query, struct gg_error *error)
{
	struct gg_residents residents;
	int64_t moment_ns = summary->moment_ns;
	int status = gg_residents_of(&residents, model, query->pid, error);

	if (status < 0)
		return status;
	if (moment_ns == GG_TIME_NONE)
		moment_ns = model->end_ns;
	summary->resident = gg_residents_at(&residents, moment_ns);
	if (summary->has_peak && summary->peak_ns != GG_TIME_NONE)
		status = read_at_peak(summary, &residents, model, query, error);
	gg_residents_done(&residents);
	return status;
}

static void read_highest(struct gg_highest_rss *highest, const struct gg_model *model, uint32_t pid)
{
	const struct gg_profile_memory *memory = model->memory;
	const struct gg_profile_process *processes = model->processes;

	*highest = (struct gg_highest_rss){ .bytes = -1 };
	for (size_t i = 0; i < model->memory_count; i++)
		if (memory[i].process != 0 && (double)memory[i].max_rss_bytes > highest->bytes &&
		    is_asked_for(&processes[memory[i].process], pid))
			*highest = (struct gg_highest_rss){
				.bytes = (double)memory[i].max_rss_bytes,
				.time_ns = memory[i].time_ns,
				.is_of_end = memory[i].rss_bytes < 0
			};
	for (size_t i = 1; i < model->process_count; i++)
		highest->process_count += is_asked_for(&processes[i], pid);
}

static int add_peak(struct gg_report_summary *summary, const struct gg_model *model,
                    struct gg_query *query, struct gg_error *error)
{
	struct gg_peak peak;
	int status = gg_query_peak(model, query, &peak, error);

	if (status < 0)
		return status;
	summary->has_peak = true;
	summary->peak_ns = peak.time_ns;
	return gg_query_peak_tally(model, query, &peak, &summary->peak, error);
}

static size_t count_processes(const struct gg_model *model, uint32_t pid)
{
	size_t found = 0;
	const struct gg_profile_process *processes = model->processes;

	for (size_t i = 1; i < model->process_count; i++)
		found += (pid == 0 || processes[i].pid == pid) &&
		         !gg_model_is_collector(model, (uint32_t)i);
	return found;
}

int gg_report_summary_of(struct gg_report_summary *summary, const struct gg_model *model,
                         const struct gg_query *query, struct gg_error *error)
{
	struct gg_query all;
	struct gg_sum_up sum;
	int status;

	gg_query_init(&all);
	all.pid = query->pid;
	*summary = (struct gg_report_summary){ .moment_ns = GG_TIME_NONE,
		                               .pid = query->pid,
		                               .resident = gg_resident_unknown,
		                               .at_peak = gg_resident_unknown };
	summary->sample_count = model->sample_total;
	summary->dropped_count = gg_model_dropped(model, 0);
	summary->interval_bytes = gg_model_interval(model, 0);
	summary->least_interval_bytes = gg_model_least_interval(model);
	summary->unresolved = gg_model_unresolved(model);
	if (gg_model_has_times(model))
		summary->process_count = count_processes(model, query->pid);
	all.metric = GG_METRIC_ALLOCATED;
	status = gg_query_sum(model, &all, &sum, error);
	if (status < 0)
		return status;
	summary->allocated = sum.total;
	all.metric = GG_METRIC_LEFT;
	status = gg_query_sum(model, &all, &sum, error);
	if (status < 0)
		return status;
	summary->left = sum.total;
	all.metric = GG_METRIC_LIVE;
	if (gg_model_has_history(model))
		status = add_peak(summary, model, &all, error);
	if (status < 0)
		return status;
	if (query->metric == GG_METRIC_LIVE && query->to_ns < model->end_ns)
		summary->moment_ns = query->to_ns;
	all.to_ns = summary->moment_ns;
	status = gg_query_sum(model, &all, &sum, error);
	if (status < 0)
		return status;
	summary->live = sum.total;
	read_highest(&summary->highest, model, query->pid);
	all.to_ns = GG_TIME_NONE;
	status = add_residents(summary, model, &all, error);
	if (status == 0)
		status = compare_with_live(summary, model, &all, error);
	if (status < 0)
		return status;
	if (summary->resident.process_count > 0 && gg_model_has_history(model)) {
		all.to_ns = summary->resident.time_ns;
		status = gg_query_sum(model, &all, &sum, error);
	}
	summary->live_then = sum.total;
	summary->slack_bytes = sum.slack_bytes;
	summary->mapping_bytes = sum.mapping_bytes;
	return status;
}

double gg_report_summary_rest(const struct gg_report_summary *summary)
{
	const struct gg_resident *resident = &summary->resident;
	const struct gg_tally *live = &summary->live_then;
	double rest = resident->rss;

	if (!summary->has_rest || live->incomplete > 0 || live->uncertain[GG_BYTES].value.high > 0)
		return NAN;
	rest -= gg_tally_estimate(&summary->live_then, GG_BYTES).value + summary->slack_bytes;
	rest -= resident->file > 0 ? resident->file : 0;
	rest -= resident->geiger > 0 ? resident->geiger : 0;
	return rest - (resident->stack > 0 ? resident->stack : 0);
}
