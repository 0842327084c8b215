/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/summaries.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "query/query.h"
#include "report/report_summary.h"

/* Files come and go; a cache of more names than this begins again. */
enum { SUMMARIES_MAX = 20000 };

struct name_key {
	const struct gg_summaries *summaries;
	const char *name;
};

static bool name_is_equal(uint64_t value, const void *context)
{
	const struct name_key *key = context;

	return strcmp(key->summaries->items.items[value].name, key->name) == 0;
}

static void clear(struct gg_cached_summary *cached)
{
	free(cached->summary.command);
	free(cached->summary.problem);
	cached->summary = (struct gg_profile_summary){ 0 };
}

void gg_summaries_done(struct gg_summaries *summaries)
{
	for (size_t i = 0; i < summaries->items.count; i++) {
		clear(&summaries->items.items[i]);
		free(summaries->items.items[i].name);
	}
	gg_array_done(&summaries->items);
	gg_map_done(&summaries->by_name);
}

/* Returns the item of a name, or NULL. */
static struct gg_cached_summary *find(const struct gg_summaries *summaries, const char *name)
{
	struct name_key key = { summaries, name };
	uint64_t seed, at;

	if (summaries->items.count == 0)
		return NULL;
	seed = gg_map_seed((struct gg_map *)&summaries->by_name);
	at = gg_map_find(&summaries->by_name, gg_hash_bytes(name, strlen(name), seed),
	                 name_is_equal, &key);
	return at != GG_MAP_NONE ? &summaries->items.items[at] : NULL;
}

const struct gg_profile_summary *gg_summaries_get(const struct gg_summaries *summaries,
                                                  const char *name, uint64_t bytes,
                                                  int64_t changed_ns)
{
	const struct gg_cached_summary *cached = find(summaries, name);

	return cached != NULL && cached->bytes == bytes && cached->changed_ns == changed_ns
	               ? &cached->summary
	               : NULL;
}

/* Returns a new item; NULL: memory ran out. */
static struct gg_cached_summary *add(struct gg_summaries *summaries, const char *name)
{
	struct gg_cached_summary *cached;
	uint64_t hash;

	if (summaries->items.count >= SUMMARIES_MAX)
		gg_summaries_done(summaries);
	hash = gg_hash_bytes(name, strlen(name), gg_map_seed(&summaries->by_name));
	cached = gg_array_add(&summaries->items);
	if (cached == NULL)
		return NULL;
	cached->name = strdup(name);
	if (cached->name == NULL ||
	    gg_map_insert(&summaries->by_name, hash, summaries->items.count - 1) < 0) {
		free(cached->name);
		summaries->items.count--;
		return NULL;
	}
	return cached;
}

static void summarize(struct gg_profile_summary *summary, const struct gg_model *model,
                      double confidence)
{
	struct gg_report_summary totals;
	struct gg_query query;

	gg_query_init(&query);
	if (gg_report_summary_of(&totals, model, &query, NULL) < 0) {
		summary->problem = strdup("its totals cannot be computed");
		return;
	}
	if (model->session_count > 0) {
		const struct gg_profile_session *session = &model->sessions[0];

		summary->command = session->command != NULL ? strdup(session->command) : NULL;
		summary->start_ns = (int64_t)session->start_wall_ns;
	}
	summary->duration_ns = model->end_ns;
	summary->live = gg_figure_of(&totals.live, GG_BYTES, confidence, false);
	summary->has_peak = totals.has_peak;
	if (totals.has_peak)
		summary->peak = gg_figure_of(&totals.peak, GG_BYTES, confidence, false);
}

void gg_summaries_put(struct gg_summaries *summaries, const char *name, uint64_t bytes,
                      int64_t changed_ns, const struct gg_model *model, double confidence,
                      const char *problem)
{
	struct gg_cached_summary *cached = find(summaries, name);

	if (cached == NULL)
		cached = add(summaries, name);
	if (cached == NULL)
		return;
	clear(cached);
	cached->bytes = bytes;
	cached->changed_ns = changed_ns;
	if (model != NULL)
		summarize(&cached->summary, model, confidence);
	else
		cached->summary.problem = strdup(problem);
}
