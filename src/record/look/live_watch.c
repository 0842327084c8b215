/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_watch - reads the live samples again at each moment of a look (look/live_watch.h).
 */
#include "record/look/live_watch.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "base/compiler.h"
#include "base/time_units.h"
#include "record/look/look_threads.h"

/* A Poisson variable with this mean is 0 with a probability of 5 %. */
#define UNSAMPLED_INTERVALS 3

/* No process has more memory; a damaged region may say so. */
#define CHANGED_BYTES_MOST 0x1p62

static uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec spent;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &spent) != 0)
		return UINT64_MAX;
	return (uint64_t)spent.tv_sec * GG_NS_PER_S + (uint64_t)spent.tv_nsec;
}

/* The clock lacks what a thread that still runs has spent since the kernel's last tick. */
static bool has_busy_thread(pid_t pid)
{
	struct gg_look_threads threads = { 0 };

	gg_look_threads_read(&threads, pid);
	gg_look_threads_done(&threads);
	return threads.count < 1 || threads.busy_count > 0;
}

static bool was_idle(const struct gg_live_watch *watch)
{
	return watch->cpu_ns != UINT64_MAX && cpu_ns_of(watch->pid) == watch->cpu_ns &&
	       !has_busy_thread(watch->pid);
}

static bool compare(struct gg_live_watch *watch, struct gg_live_difference *ret)
{
	int status = gg_live_change_read(&watch->samples->change, watch->reader, ret,
	                                 &watch->error);

	if (status < 0)
		watch->status = status;
	return status == 0;
}

static void mappings_read(void *context)
{
	struct gg_live_watch *watch = context;

	watch->has_difference = !watch->samples->is_too_large && compare(watch, &watch->difference);
}

static void blocks_read(void *context, bool *is_gone)
{
	struct gg_live_watch *watch = context;
	struct gg_look_samples *samples = watch->samples;
	int status = gg_look_samples_check(samples, watch->reader, &watch->error);

	if (status < 0)
		watch->status = status;
	for (size_t i = 0; i < samples->chosen_count; i++)
		is_gone[i] = samples->list.items[i].is_gone;
}

static int64_t heap_walked(void *context)
{
	struct gg_live_watch *watch = context;
	double interval_bytes = (double)watch->reader->header.control.interval_bytes;
	struct gg_live_difference all = { 0 };

	if (was_idle(watch) || !compare(watch, &all))
		return 0;
	return (int64_t)fmin(fmax(all.before_bytes, all.after_bytes) - all.stayed_bytes +
	                             all.unseen_bytes + UNSAMPLED_INTERVALS * interval_bytes,
	                     CHANGED_BYTES_MOST);
}

void gg_live_watch_begin(struct gg_live_watch *watch)
{
	watch->moments = (struct gg_look_moments){ watch, mappings_read, blocks_read, heap_walked };
	watch->cpu_ns = cpu_ns_of(watch->pid);
	watch->has_difference = false;
	watch->status = 0;
}

/* Bytes of all samples of which those that are gone are a part chosen by chance. */
static double gone_bytes(const struct gg_look_samples *samples)
{
	double sum = 0;

	for (size_t i = 0; i < samples->chosen_count; i++)
		if (samples->list.items[i].is_gone && !samples->list.items[i].is_mapping)
			sum += samples->list.items[i].weight_bytes;
	return samples->chosen_count > 0
	               ? sum * (double)samples->list.count / (double)samples->chosen_count
	               : 0;
}

int gg_live_watch_end(struct gg_live_watch *watch, struct gg_look *look, struct gg_error *error)
{
	const struct gg_live_difference *difference = &watch->difference;
	const struct gg_profile_look_total totals[] = {
		{ .name = "look.live-before", .bytes = llround(difference->before_bytes) },
		{ .name = "look.live-after", .bytes = llround(difference->after_bytes) },
		{ .name = "look.live-stayed", .bytes = llround(difference->stayed_bytes) },
		{ .name = "look.live-deviation",
		  .bytes = llround(sqrt(difference->after_variance)) },
		{ .name = "look.live-unseen", .bytes = llround(difference->unseen_bytes) },
		{ .name = "look.gone", .bytes = llround(gone_bytes(watch->samples)) },
	};

	if (watch->status < 0) {
		*error = watch->error;
		return watch->status;
	}
	for (size_t i = 0; i < GG_COUNT(totals) && watch->has_difference; i++)
		if (!gg_array_push(&look->blocks.totals, totals[i]))
			return gg_error_memory(error, "a look");
	return 0;
}
