/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bump - implements the slow path of bump-pointer allocators (geiger/bump.h).
 *
 * The sampler counts down the bytes to the next sample point.  The fast path does not touch the
 * sampler; it only moves alloc_ptr.  So the sampler's count lacks the bytes between `counted_to`
 * and alloc_ptr, which lie in the same block.  Every function that uses the sampler takes three
 * steps:
 *
 *   settle()   subtracts these bytes from the sampler's count
 *   ...        uses the sampler
 *   arm()      places combined_limit at the next sample point, or at the end of the block
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "embed/public.h"
#include "embed/public_draw.h"
#include "embed/record_sample.h"
#include "embed/sampling_settings.h"
#include "stats/sampling/sampler.h"
#include "stats/sampling/weight.h"

/* The content of geiger_bump.geiger_private. */
struct state {
	struct gg_sampler sampler;
	char *counted_to; /* the sampler's count includes the objects before it */
	void (*on_sample)(void *user, const struct geiger_bump_sample *sample);
	void *user;
	uint64_t interval_bytes; /* 0: the interval of the recording */
	uint32_t heap;           /* 0: samples are not recorded */
	uint32_t seen_change;    /* the settings' change count that the sampler has applied */
	uint32_t fork_count;     /* of the process in which the sampler was seeded */
	enum gg_scheme scheme;
	bool enabled;
	bool sampling; /* enabled, and a recording, a listener or on_sample receives samples */
	bool inside;   /* on_sample is running */
};

static_assert(sizeof(struct state) <= sizeof(((struct geiger_bump *)0)->geiger_private), "fits");

static struct state *state_of(struct geiger_bump *bump)
{
	return (struct state *)(void *)bump->geiger_private;
}

/*
 * Gives the sampler its current options.  gg_sampler_change() drops the pending sample point
 * unseen, and does not look at the distance to it, so estimates stay unbiased.
 */
static void change_sampler(struct state *s)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	struct gg_sampler_options options = s->sampler.options;

	options.scheme = s->scheme;
	options.sampling_interval = (double)(s->interval_bytes != 0 ? s->interval_bytes
	                                                            : gg_embed_interval());
	if (s->interval_bytes != 0 && s->heap != 0 && agent != NULL)
		agent->expose(s->interval_bytes);
	gg_sampler_change(&s->sampler, &options);
}

/*
 * Draws the gap again in a forked child, which must not draw what its parent draws.  A context is
 * the embedder's memory, so the library cannot reach it at the fork.  The child comes here at its
 * first slow call.  If that call is due to the pending sample point, the point counts; otherwise it
 * is replaced.
 */
static void reseed(struct state *s)
{
	s->fork_count = gg_load_relaxed(&gg_embed_settings.fork_count);
	if (gg_sampler_is_started(&s->sampler))
		gg_sampler_reseed(&s->sampler, gg_load_relaxed(&gg_embed_settings.seed),
		                  gg_embed_next_stream());
}

/* True if samples of this context have a receiver. */
static bool has_receiver(const struct state *s)
{
	if (!s->enabled)
		return false;
	return s->on_sample != NULL || (s->heap != 0 && gg_embed_is_sampling());
}

/*
 * Applies new settings.  When sampling begins, or the interval of the recording has changed, the
 * pending sample point is dropped unseen.  With an interval of its own, a context ignores that of
 * the recording.
 */
static void apply_settings(struct state *s)
{
	uint32_t count;
	bool wanted;

	gg_embed_settings_refresh();
	count = gg_embed_settings_count();
	if (gg_unlikely(s->fork_count != gg_load_relaxed(&gg_embed_settings.fork_count)))
		reseed(s);
	wanted = has_receiver(s);
	if (s->interval_bytes == 0 && s->seen_change != count &&
	    s->sampler.options.sampling_interval != (double)gg_embed_interval())
		change_sampler(s);
	else if (wanted && !s->sampling)
		change_sampler(s);
	s->seen_change = count;
	s->sampling = wanted;
}

/* Subtracts the bytes that were allocated since the last call from the sampler's count. */
static void settle(struct geiger_bump *bump, struct state *s)
{
	size_t bytes = (size_t)(bump->alloc_ptr - s->counted_to);

	if (s->sampling) {
		/*
		 * The fast path never passes a sample point, so the embedder has moved the pointer.
		 * Which of these bytes were allocated is unknown, so the point is drawn again.
		 */
		if (bytes > (uint64_t)s->sampler.left_bytes)
			change_sampler(s);
		else
			s->sampler.left_bytes -= (int64_t)bytes;
	}
	s->counted_to = bump->alloc_ptr;
}

/*
 * Places the limit of the fast path.  Call it when the sampler's count is settled.  An object
 * covers the sample point if it is longer than left_bytes, which is when it does not fit below the
 * limit.
 */
static void arm(struct geiger_bump *bump, struct state *s)
{
	size_t room = (size_t)(bump->alloc_limit - bump->alloc_ptr);

	s->counted_to = bump->alloc_ptr;
	if (s->sampling && (uint64_t)s->sampler.left_bytes < room)
		bump->combined_limit = bump->alloc_ptr + s->sampler.left_bytes;
	else
		bump->combined_limit = bump->alloc_limit;
}

/*
 * Records the sample, and passes it to on_sample.  on_sample may allocate from this context;
 * `inside` keeps such an allocation from being reported, which would recurse.
 */
static void emit(struct state *s, void *object, size_t bytes, const char *type,
                 const struct gg_draw *draw, const void *caller)
{
	const struct gg_embed_sample report = {
		.object = object,
		.bytes = bytes,
		.type = type,
		.draw = *draw,
	};
	struct geiger_bump_sample sample = {
		.object = object,
		.bytes = bytes,
		.offset = (size_t)draw->offset_bytes,
		.interval_bytes = (uint64_t)draw->sampling_interval,
		.sample_points = draw->sample_point_count,
		.type = type,
		.scheme = gg_embed_public_scheme(draw->scheme),
	};
	void (*on_sample)(void *, const struct geiger_bump_sample *) = s->on_sample;

	/* The sampler drew the point inside this object, and the context had a receiver for it. */
	gg_assert(gg_draw_is_valid(draw) && draw->offset_bytes < bytes);
	gg_assert(s->sampling);
	if (s->inside)
		return;
	s->inside = true;
	if (s->heap != 0 && gg_embed_is_sampling())
		gg_embed_record_sample(s->heap, &report, caller);
	if (on_sample != NULL)
		on_sample(s->user, &sample);
	s->inside = false;
}

/*
 * Counts an object, right after settle(), and returns true if it is a sample.
 *
 * New settings are applied between due and take.  A pending sample point may be the reason for this
 * slow call, so dropping it before due would lose the sample: the decision to drop would depend on
 * the distance, and the estimate would be biased.  Between due and take, the sampler decides about
 * this object by the old settings, and uses the new ones from the next object on (sampler.h).
 *
 * If the context was not sampling before, no point is pending, and sampling begins with this
 * object.
 */
static bool draw_for(struct state *s, size_t bytes, struct gg_draw *ret_draw)
{
	bool was_sampling = s->sampling, due;

	due = was_sampling && bytes != 0 && gg_sampler_due(&s->sampler, bytes);
	apply_settings(s);
	if (!was_sampling)
		due = s->sampling && bytes != 0 && gg_sampler_due(&s->sampler, bytes);
	return due && gg_sampler_take(&s->sampler, bytes, ret_draw) && s->sampling;
}

int geiger_bump_init(struct geiger_bump *bump, const struct geiger_bump_config *config)
{
	struct gg_sampler_options options = { 0 };
	struct state *s;

	if (bump == NULL || config == NULL || gg_embed_scheme(config->scheme) < 0 ||
	    config->interval_bytes > GG_EMBED_INTERVAL_MAX)
		return -EINVAL;
	memset(bump, 0, sizeof(*bump));
	s = state_of(bump);
	s->on_sample = config->on_sample;
	s->user = config->user;
	s->interval_bytes = config->interval_bytes;
	s->heap = geiger_heap_register(config->heap, NULL);
	s->scheme = (enum gg_scheme)gg_embed_scheme(config->scheme);
	s->enabled = true;
	s->fork_count = gg_load_relaxed(&gg_embed_settings.fork_count);
	gg_embed_settings_refresh();
	options.seed = config->seed != 0 ? config->seed : gg_load_relaxed(&gg_embed_settings.seed);
	if (config->seed == 0)
		options.stream = gg_embed_next_stream();
	gg_sampler_init(&s->sampler, &options);
	change_sampler(s);
	apply_settings(s);
	return 0;
}

void geiger_bump_refill(struct geiger_bump *bump, void *start, void *end)
{
	struct state *s;

	if (bump == NULL)
		return;
	s = state_of(bump);
	settle(bump, s);
	apply_settings(s);
	bump->alloc_ptr = start;
	bump->alloc_limit = (uintptr_t)end > (uintptr_t)start ? end : start;
	arm(bump, s);
}

void *geiger_bump_alloc_slow(struct geiger_bump *bump, size_t bytes, const char *type)
{
	struct state *s = state_of(bump);
	char *object = bump->alloc_ptr;
	struct gg_draw draw;
	bool sampled;

	/* Nothing is allocated, so nothing is counted.  A sample point before the end waits. */
	if (bytes > (size_t)(bump->alloc_limit - object))
		return NULL;
	settle(bump, s);
	sampled = draw_for(s, bytes, &draw);
	bump->alloc_ptr = object + bytes;
	arm(bump, s);
	if (sampled)
		emit(s, object, bytes, type, &draw, __builtin_return_address(0));
	return object;
}

void geiger_bump_count_outside(struct geiger_bump *bump, void *object, size_t bytes,
                               const char *type)
{
	struct state *s;
	struct gg_draw draw;
	bool sampled;

	if (bump == NULL || object == NULL || bytes > PTRDIFF_MAX)
		return;
	s = state_of(bump);
	settle(bump, s);
	sampled = draw_for(s, bytes, &draw);
	arm(bump, s);
	if (sampled)
		emit(s, object, bytes, type, &draw, __builtin_return_address(0));
}

void geiger_bump_enable(struct geiger_bump *bump, bool enabled)
{
	struct state *s;

	if (bump == NULL)
		return;
	s = state_of(bump);
	settle(bump, s);
	s->enabled = enabled && gg_sampler_is_started(&s->sampler);
	apply_settings(s);
	arm(bump, s);
}

void geiger_bump_set_interval(struct geiger_bump *bump, uint64_t interval_bytes)
{
	struct state *s;

	if (bump == NULL)
		return;
	s = state_of(bump);
	settle(bump, s);
	s->interval_bytes = interval_bytes < GG_EMBED_INTERVAL_MAX ? interval_bytes
	                                                           : GG_EMBED_INTERVAL_MAX;
	if (gg_sampler_is_started(&s->sampler))
		change_sampler(s);
	apply_settings(s);
	arm(bump, s);
}

void geiger_bump_done(struct geiger_bump *bump)
{
	if (bump != NULL)
		memset(bump, 0, sizeof(*bump));
}

double geiger_estimate_bytes(const struct geiger_bump_sample *sample)
{
	struct gg_draw draw = { 0 };

	if (sample == NULL || gg_embed_scheme(sample->scheme) < 0)
		return 0;
	draw.sampling_interval = sample->interval_bytes > 1 ? (double)sample->interval_bytes : 1;
	draw.offset_bytes = sample->offset;
	draw.sample_point_count = sample->sample_points > 0 ? sample->sample_points : 1;
	draw.scheme = (enum gg_scheme)gg_embed_scheme(sample->scheme);
	/* bump.h documents this product, so the result must equal it to the last bit. */
	if (draw.scheme == GG_SCHEME_STRIDE && draw.sampling_interval > 1 &&
	    draw.sample_point_count < UINT32_MAX)
		return draw.sample_point_count * draw.sampling_interval;
	return gg_weight_of(&draw, sample->bytes).bytes;
}
