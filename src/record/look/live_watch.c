/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_watch - reads the live samples again at each moment of a look (look/live_watch.h).
 */
#include "record/look/live_watch.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "record/look/look_threads.h"
#include "stats/estimate/interval.h"

/* A Poisson variable with this mean is 0 with a probability of 5 %. */
#define UNSAMPLED_INTERVALS 3

/*
 * A reading is good enough if this share of live memory changed meanwhile, or little more than in
 * the best of the first tries.  The longer the search, the less it asks for.
 */
static const double change_enough = 0.01, change_step = 0.1;

enum { TRIES_LEAST = 8 };

#define TRIES_NS (100 * GG_NS_PER_MS)

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

/* Compares the samples now with the first reading, as gg_live_change_read() does. */
static bool compare(struct gg_live_watch *watch, uint64_t from_ns, uint64_t to_ns,
                    struct gg_live_difference *ret)
{
	int status = gg_live_change_read(&watch->samples->change, watch->reader, from_ns, to_ns,
	                                 ret, &watch->error);

	if (status < 0)
		watch->status = status;
	return status == 0;
}

static int read_samples(struct gg_live_watch *watch)
{
	int status = gg_look_samples_read(watch->samples, watch->reader, watch->live_set,
	                                  &watch->error);

	if (status == 0)
		gg_look_samples_choose(watch->samples, watch->chosen_max, watch->seed);
	return status;
}

/* Whether the difference is so small that another try is not worth its time. */
static bool is_good(struct gg_live_watch *watch)
{
	const struct gg_live_difference *difference = &watch->difference;
	double live = fmax(difference->before_bytes, difference->after_bytes);
	double change = live > 0 ? (live - difference->stayed_bytes + difference->unseen_bytes) /
	                                   live
	                         : 0;

	watch->least_change = watch->try_count == 0 ? change : fmin(watch->least_change, change);
	watch->try_count++;
	return change <= change_enough || watch->try_count > watch->retry_count ||
	       gg_clock_thread_ns() - watch->begin_ns > TRIES_NS ||
	       (watch->try_count >= TRIES_LEAST &&
	        change <=
	                watch->least_change * (1 + change_step * (watch->try_count - TRIES_LEAST)));
}

static bool mappings_read(void *context, uint64_t began_ns, uint64_t ended_ns)
{
	struct gg_live_watch *watch = context;

	watch->has_difference = !watch->samples->is_too_large &&
	                        compare(watch, began_ns, ended_ns, &watch->difference);
	if (!watch->has_difference || is_good(watch))
		return false;
	watch->status = read_samples(watch);
	watch->has_difference = false;
	return watch->status == 0;
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

	if (was_idle(watch) || !compare(watch, 0, 0, &all))
		return 0;
	return (int64_t)fmin(fmax(all.before_bytes, all.after_bytes) - all.stayed_bytes +
	                             all.unseen_bytes + UNSAMPLED_INTERVALS * interval_bytes,
	                     CHANGED_BYTES_MOST);
}

int gg_live_watch_begin(struct gg_live_watch *watch, struct gg_error *error)
{
	int status;

	watch->moments = (struct gg_look_moments){ watch, mappings_read, blocks_read, blocks_read,
		                                   heap_walked };
	watch->cpu_ns = cpu_ns_of(watch->pid);
	watch->has_difference = false;
	watch->status = 0;
	watch->try_count = 0;
	watch->begin_ns = gg_clock_thread_ns();
	status = read_samples(watch);
	if (status < 0)
		*error = watch->error;
	return status;
}

/* How many of all samples each chosen one stands for. */
static double choice_weight(const struct gg_look_samples *samples)
{
	return samples->chosen_count > 0
	               ? (double)samples->list.count / (double)samples->chosen_count
	               : 0;
}

/* Estimates of all bytes in blocks that are gone, and whose residency was read before. */
struct gone_seen {
	struct gg_estimate resident, absent;
};

/* share: the part of the block; p: the probability that it was a sample and that it was chosen. */
static void add_gone(struct gg_estimate *sum, const struct gg_look_sample *sample, double share,
                     double p)
{
	double bytes = (double)sample->size_bytes * share;

	sum->value += bytes / p;
	sum->variance += (1 - p) / (p * p) * bytes * bytes;
}

static struct gone_seen gone_seen_of(const struct gg_look_samples *samples,
                                     const struct gg_block_looks *looks)
{
	struct gone_seen seen = { 0 };

	for (size_t i = 0; i < looks->gone.count; i++) {
		const struct gg_gone_block *gone = &looks->gone.items[i];
		const struct gg_look_sample *sample = &samples->list.items[gone->place];
		double usable = fmax((double)sample->usable_bytes, 1);
		double share = fmin((double)gone->resident_bytes / usable, 1), p;

		if (sample->is_mapping || !(sample->weight_bytes > 0))
			continue;
		p = (double)sample->size_bytes / (sample->weight_bytes * choice_weight(samples));
		add_gone(&seen.resident, sample, share, fmin(p, 1));
		add_gone(&seen.absent, sample, 1 - share, fmin(p, 1));
	}
	return seen;
}

/* Bytes of all samples of which those that are gone are a part chosen by chance. */
static double gone_bytes(const struct gg_look_samples *samples)
{
	double sum = 0;

	for (size_t i = 0; i < samples->chosen_count; i++)
		if (samples->list.items[i].is_gone && !samples->list.items[i].is_mapping)
			sum += samples->list.items[i].weight_bytes;
	return sum * choice_weight(samples);
}

int gg_live_watch_end(struct gg_live_watch *watch, struct gg_look *look, struct gg_error *error)
{
	const struct gg_live_difference *difference = &watch->difference;
	struct gone_seen gone = gone_seen_of(watch->samples, &look->blocks);
	const struct gg_profile_look_total totals[] = {
		{ .name = "look.live-before", .bytes = llround(difference->before_bytes) },
		{ .name = "look.live-after", .bytes = llround(difference->after_bytes) },
		{ .name = "look.live-stayed", .bytes = llround(difference->stayed_bytes) },
		{ .name = "look.live-deviation",
		  .bytes = llround(sqrt(difference->after_variance)) },
		{ .name = "look.live-new", .bytes = llround(difference->new_bytes) },
		{ .name = "look.live-new-unsure", .bytes = llround(difference->new_unsure_bytes) },
		{ .name = "look.live-unseen", .bytes = llround(difference->unseen_bytes) },
		{ .name = "look.gone", .bytes = llround(gone_bytes(watch->samples)) },
		{ .name = "look.gone-seen",
		  .bytes = llround(gone.resident.value + gone.absent.value) },
		{ .name = "look.gone-resident", .bytes = llround(gone.resident.value) },
		{ .name = "look.gone-resident-deviation",
		  .bytes = llround(sqrt(gone.resident.variance)) },
		{ .name = "look.gone-absent-deviation",
		  .bytes = llround(sqrt(gone.absent.variance)) },
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
