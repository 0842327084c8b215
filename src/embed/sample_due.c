/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_due - decides whether an allocation that was due by geiger_due() is a sample.
 *
 * The thread's sampler and geiger_left_bytes share one count.  It is in geiger_left_bytes while the
 * thread is outside the library, and moves into the sampler while the thread is inside.
 */
#include "base/assert.h"
#include "embed/embed_thread.h"
#include "embed/public_draw.h"
#include "embed/record_sample.h"
#include "embed/sampling_settings.h"
#include "stats/sampling/sampler.h"

__thread int64_t geiger_left_bytes __attribute__((tls_model("initial-exec")));

/* Serves compilers that cannot access another library's thread-local variables. */
GG_EXPORT int64_t *geiger_left_bytes_of_thread(void);

int64_t *geiger_left_bytes_of_thread(void)
{
	return &geiger_left_bytes;
}

static void to_sampler(struct gg_embed_thread *t)
{
	t->sampler.left_bytes = geiger_left_bytes;
}

static void from_sampler(const struct gg_embed_thread *t)
{
	geiger_left_bytes = t->sampler.left_bytes;
}

/* Applies the current settings to the thread's sampler.  The first call seeds it. */
static void update(struct gg_embed_thread *t)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	struct gg_embed_settings *s = &gg_embed_settings;
	uint32_t count = gg_embed_settings_count();
	uint32_t forks = gg_load_relaxed(&s->fork_count);
	struct gg_sampler_options options = {
		.scheme = (enum gg_scheme)gg_load_relaxed(&s->scheme),
		.sampling_interval = (double)(t->interval_bytes != 0 ? t->interval_bytes
		                                                     : gg_embed_interval()),
		.visit_bytes = GG_EMBED_VISIT_BYTES,
		.seed = gg_load_relaxed(&s->seed),
	};

	if (!gg_sampler_is_started(&t->sampler)) {
		options.stream = gg_embed_next_stream();
		gg_sampler_init(&t->sampler, &options);
	} else {
		if (t->fork_count != forks)
			gg_sampler_reseed(&t->sampler, options.seed, gg_embed_next_stream());
		gg_sampler_change(&t->sampler, &options);
	}
	gg_assert(options.sampling_interval >= 1 && gg_sampler_is_started(&t->sampler));
	if (t->interval_bytes != 0 && agent != NULL)
		agent->expose(t->interval_bytes);
	t->fork_count = forks;
	t->seen_change = count;
}

void gg_embed_sampler_forked(void)
{
	struct gg_embed_thread *t = gg_embed_own_thread();
	struct gg_embed_settings *s = &gg_embed_settings;

	/* If a signal handler forked inside the library, update() seeds the sampler again. */
	if (t == NULL || gg_load_relaxed(&t->inside) != 0 || !gg_sampler_is_started(&t->sampler))
		return;
	to_sampler(t);
	gg_sampler_reseed(&t->sampler, gg_load_relaxed(&s->seed), gg_embed_next_stream());
	from_sampler(t);
	t->fork_count = gg_load_relaxed(&s->fork_count);
}

/*
 * Decides about an allocation after geiger_due() with its size.  New settings are applied between
 * due and take, when the pending sample point still decides about this allocation (sampler.h).
 */
static bool take(struct gg_embed_thread *t, size_t bytes, struct gg_draw *ret_draw)
{
	bool sampled = false;

	gg_assert(gg_load_relaxed(&t->inside) == 1);
	to_sampler(t);
	gg_embed_settings_refresh();
	if (t->seen_change != gg_embed_settings_count())
		update(t);
	if (gg_embed_is_sampling())
		sampled = gg_sampler_take(&t->sampler, bytes, ret_draw);
	else
		gg_sampler_pause(&t->sampler, gg_load_relaxed(&gg_embed_settings.is_own)
		                                      ? GG_EMBED_VISIT_BYTES
		                                      : GG_EMBED_PAUSED_VISIT_BYTES);
	gg_assert(!sampled || gg_draw_is_valid(ret_draw));
	from_sampler(t);
	return sampled;
}

void geiger_put_back(size_t bytes)
{
	/* The sum is unsigned, because sizes beyond PTRDIFF_MAX wrapped around in geiger_due(). */
	uint64_t length = (uint64_t)bytes + (bytes == 0);

	geiger_left_bytes = (int64_t)((uint64_t)geiger_left_bytes + length);
}

/* Decides like take(); puts the bytes back if the allocation failed or its size is impossible. */
static bool take_or_put_back(struct gg_embed_thread *t, const void *object, size_t bytes,
                             struct gg_draw *ret_draw)
{
	if (object == NULL || bytes > PTRDIFF_MAX) {
		geiger_put_back(bytes);
		return false;
	}
	return take(t, bytes, ret_draw);
}

void *geiger_allocated(uint32_t heap, const void *object, size_t bytes, const char *type)
{
	void *same = (void *)(uintptr_t)object;
	struct gg_embed_thread *t = gg_embed_thread();
	struct gg_embed_sample sample = {
		.object = object,
		.bytes = bytes,
		.type = type,
		.has_hooks = true,
	};

	/*
	 * There is no state, or the thread interrupted a call of its own.  This allocation passes
	 * unsampled, and so do the next GG_EMBED_VISIT_BYTES.  After an allocation that failed, the
	 * next one is due.
	 */
	if (t == NULL || !gg_embed_enter(t)) {
		geiger_left_bytes = object == NULL ? 0 : GG_EMBED_VISIT_BYTES;
		return same;
	}
	/* gg_embed_record_sample() enters by itself, so leave first. */
	if (take_or_put_back(t, object, bytes, &sample.draw)) {
		gg_embed_leave(t);
		gg_embed_record_sample(heap, &sample, __builtin_return_address(0));
		return same;
	}
	gg_embed_leave(t);
	return same;
}

bool geiger_take(size_t bytes, struct geiger_sample *ret_sample)
{
	struct gg_embed_thread *t = gg_embed_thread();
	struct gg_draw draw;
	bool sampled;

	if (t == NULL || ret_sample == NULL || !gg_embed_enter(t)) {
		geiger_left_bytes = GG_EMBED_VISIT_BYTES;
		return false;
	}
	sampled = take_or_put_back(t, ret_sample, bytes, &draw);
	gg_embed_leave(t);
	if (sampled)
		*ret_sample = (struct geiger_sample){
			.bytes = bytes,
			.offset = (size_t)draw.offset_bytes,
			.interval_bytes = (uint64_t)draw.sampling_interval,
			.sample_points = draw.sample_point_count,
			.scheme = gg_embed_public_scheme(draw.scheme),
		};
	return sampled;
}

void gg_embed_settings_apply_now(void)
{
	struct gg_embed_thread *t = gg_embed_thread();

	gg_embed_settings_refresh();
	if (t == NULL || !gg_embed_enter(t))
		return;
	to_sampler(t);
	update(t);
	from_sampler(t);
	gg_embed_leave(t);
}

void geiger_thread_interval(uint64_t interval_bytes)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	struct gg_embed_thread *t = gg_embed_thread();

	if (interval_bytes > GG_EMBED_INTERVAL_MAX)
		interval_bytes = GG_EMBED_INTERVAL_MAX;
	if (t != NULL && gg_embed_enter(t)) {
		t->interval_bytes = interval_bytes;
		to_sampler(t);
		gg_embed_settings_refresh();
		update(t);
		from_sampler(t);
		gg_embed_leave(t);
	}
	if (agent != NULL)
		agent->thread_interval(interval_bytes);
}
