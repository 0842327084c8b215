/* SPDX-License-Identifier: Apache-2.0 */
/* snapshots - turns differences between heap profiles of a process into aggregates with times. */
#include "format/import/snapshots.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/hash.h"

enum { SNAPSHOT_SIZES_MIXED = 255 };

/* Blocks of a site that were allocated in the spacing that ended at snapshot `number`. */
struct snapshot_blocks {
	int64_t number;
	struct gg_row_sums sums;
};

struct snapshot_values {
	double live_count, live_bytes, ever_count, ever_bytes;
};

/* A stack with a size. */
struct snapshot_site {
	uint32_t stack;
	uint64_t size_bytes;
	struct gg_row_weighing how;
	struct snapshot_values before, now;
	GG_ARRAY(struct snapshot_blocks) live; /* ascending numbers */
};

struct gg_snapshots {
	struct gg_profile *profile;
	struct gg_snapshots_options options;
	struct gg_profile_session session;
	uint32_t process;
	GG_ARRAY(struct snapshot_site) sites;
	struct gg_map by_key;
	bool has_ever; /* the format counts allocations */
	int64_t last;  /* the newest snapshot; 0: none yet */
	bool has_restarted;
	struct gg_error *error;
};

/* --- reading a snapshot ----------------------------------------------------------------------- */

struct site_key {
	const struct gg_snapshots *snapshots;
	uint32_t stack;
	uint64_t size_bytes;
};

static bool has_key(uint64_t index, const void *context)
{
	const struct site_key *key = context;
	const struct snapshot_site *site = &key->snapshots->sites.items[index];

	return site->stack == key->stack && site->size_bytes == key->size_bytes;
}

static struct snapshot_site *find_site(struct gg_snapshots *snapshots,
                                       const struct gg_import_row_values *row)
{
	struct site_key key = { snapshots, row->stack, row->size_bytes };
	uint64_t hash = gg_hash_integer(row->size_bytes,
	                                gg_map_seed(&snapshots->by_key) + row->stack);
	uint64_t index = gg_map_find(&snapshots->by_key, hash, has_key, &key);
	struct snapshot_site *site;

	if (index != GG_MAP_NONE)
		return &snapshots->sites.items[index];
	site = gg_array_add(&snapshots->sites);
	if (site == NULL || gg_map_insert(&snapshots->by_key, hash, snapshots->sites.count - 1) < 0)
		return NULL;
	*site = (struct snapshot_site){ .stack = row->stack, .size_bytes = row->size_bytes };
	return site;
}

static int take_row(struct gg_import *import, const struct gg_import_row_values *row)
{
	struct gg_snapshots *snapshots = import->options->row_context;
	struct snapshot_site *site = find_site(snapshots, row);

	if (site == NULL)
		return gg_import_no_memory(import);
	site->how = row->how;
	site->now.live_count += row->live_count;
	site->now.live_bytes += row->live_bytes;
	site->now.ever_count += row->ever_count;
	site->now.ever_bytes += row->ever_bytes;
	snapshots->has_ever |= row->ever_bytes > 0;
	return 0;
}

static int read_snapshot(struct gg_snapshots *snapshots, struct gg_input *input)
{
	const struct gg_import_options options = { .process = snapshots->process,
		                                   .ignore_files = snapshots->options.ignore_files,
		                                   .take_row = take_row,
		                                   .row_context = snapshots };
	struct gg_import_result result;
	int status;

	for (size_t i = 0; i < snapshots->sites.count; i++)
		snapshots->sites.items[i].now = (struct snapshot_values){ 0 };
	status = gg_import_as(&gg_importer_pprof, snapshots->profile, input, &options, &result,
	                      snapshots->error);
	if (status == 0)
		snapshots->session.interval_bytes = result.interval_bytes;
	return status;
}

/* --- aggregates ------------------------------------------------------------------------------- */

static struct gg_row_sums scaled(const struct gg_row_sums *sums, double part)
{
	struct gg_row_sums scaled = *sums;

	/* Whole numbers, so that exact sums stay exact; no sum has less than one sample. */
	scaled.samples = fmax(round(sums->samples * part), 1);
	scaled.size = round(sums->size * part);
	scaled.count *= part;
	scaled.count_variance *= part;
	scaled.bytes *= part;
	scaled.bytes_variance *= part;
	scaled.count_skew *= part;
	scaled.bytes_skew *= part;
	return scaled;
}

/* to: the number of the snapshot that lacked them; 0: they are live. */
static int add_aggregate(struct gg_snapshots *snapshots, const struct snapshot_site *site,
                         const struct snapshot_blocks *blocks, int64_t to)
{
	int64_t spacing_ns = snapshots->options.spacing_ns;
	struct gg_profile_aggregate row = { .process = snapshots->process,
		                            .stack = site->stack,
		                            .from_ns = (blocks->number - 1) * spacing_ns,
		                            .to_ns = to != 0 ? to * spacing_ns : GG_TIME_NONE,
		                            .bucket_ns = spacing_ns,
		                            .size_class = SNAPSHOT_SIZES_MIXED,
		                            .interval_bytes = site->how.interval_bytes,
		                            .sums = gg_row_sums_sums(&blocks->sums),
		                            .count_skew = blocks->sums.count_skew,
		                            .bytes_skew = blocks->sums.bytes_skew,
		                            .unknown_errors = blocks->sums.unknown_errors };

	if (!(blocks->sums.bytes > 0) && !(blocks->sums.count > 0))
		return 0;
	return gg_profile_add_aggregate(snapshots->profile, &row, snapshots->error);
}

static int add_blocks(struct gg_snapshots *snapshots, struct snapshot_site *site, int64_t number,
                      double count, double bytes)
{
	struct gg_row_weighing how = site->how;
	struct snapshot_blocks blocks = { .number = number };

	if (!(count > 0) && !(bytes > 0))
		return 0;
	how.is_mixed = site->size_bytes == 0;
	blocks.sums = gg_row_weighing(&how, count, bytes);
	return gg_array_push(&site->live, blocks) ? 0 : gg_error_memory(snapshots->error, "import");
}

/* Ends the newest blocks of the site, so many bytes of them. */
static int end_blocks(struct gg_snapshots *snapshots, struct snapshot_site *site, int64_t number,
                      double bytes)
{
	int status = 0;

	while (bytes > 0 && site->live.count > 0 && status == 0) {
		struct snapshot_blocks *newest = &site->live.items[site->live.count - 1];
		struct snapshot_blocks ended = *newest;

		if (newest->sums.bytes > bytes * (1 + 1e-9)) {
			double part = bytes / newest->sums.bytes;

			ended.sums = scaled(&newest->sums, part);
			newest->sums = scaled(&newest->sums, 1 - part);
		} else {
			site->live.count--;
		}
		bytes -= ended.sums.bytes;
		status = add_aggregate(snapshots, site, &ended, number);
	}
	return status;
}

/*
 * Live memory of the snapshot is right in any case.  Allocations are at least as many as that
 * needs, because rounding may leave fewer.
 */
static int compare_site(struct gg_snapshots *snapshots, struct snapshot_site *site, int64_t number,
                        bool is_first)
{
	const struct snapshot_values *now = &site->now, *before = &site->before;
	double grown_count = now->live_count - before->live_count;
	double grown_bytes = now->live_bytes - before->live_bytes;
	double new_count = now->ever_count - before->ever_count;
	double new_bytes = now->ever_bytes - before->ever_bytes;
	int status;

	if (is_first || !snapshots->has_ever)
		new_count = new_bytes = 0;
	new_count = fmax(new_count, fmax(grown_count, 0));
	new_bytes = fmax(new_bytes, fmax(grown_bytes, 0));
	status = add_blocks(snapshots, site, number, new_count, new_bytes);
	if (status == 0)
		status = end_blocks(snapshots, site, number, new_bytes - grown_bytes);
	site->before = *now;
	return status;
}

/* True if some site has fewer allocations than before, beyond rounding: counters start at 0. */
static bool is_restarted(const struct gg_snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->sites.count && snapshots->last > 0; i++) {
		const struct snapshot_site *site = &snapshots->sites.items[i];

		if (site->now.ever_bytes < site->before.ever_bytes * 0.99 - 1)
			return true;
	}
	return false;
}

static int begin_again(struct gg_snapshots *snapshots, int64_t number)
{
	int status = 0;

	for (size_t i = 0; i < snapshots->sites.count && status == 0; i++) {
		struct snapshot_site *site = &snapshots->sites.items[i];

		status = end_blocks(snapshots, site, number, INFINITY);
		site->before = (struct snapshot_values){ 0 };
	}
	if (status == 0 && !snapshots->has_restarted)
		status = gg_profile_add_note(snapshots->profile,
		                             "The process was started anew while its profiles were "
		                             "fetched: its counts fell.",
		                             snapshots->error);
	snapshots->has_restarted = true;
	return status;
}

static int write_live(struct gg_snapshots *snapshots)
{
	int status = gg_profile_remove_live_aggregates(snapshots->profile, snapshots->process,
	                                               false, snapshots->error);

	for (size_t i = 0; i < snapshots->sites.count; i++) {
		const struct snapshot_site *site = &snapshots->sites.items[i];

		for (size_t k = 0; k < site->live.count && status == 0; k++)
			status = add_aggregate(snapshots, site, &site->live.items[k], 0);
	}
	return status;
}

/* --- the series ------------------------------------------------------------------------------- */

static struct gg_profile_process process_of(const struct gg_snapshots *snapshots)
{
	return (struct gg_profile_process){ .end_ns = snapshots->session.end_ns,
		                            .command = snapshots->options.command,
		                            .interval_bytes = snapshots->session.interval_bytes,
		                            .scheme = GG_SCHEME_POISSON };
}

int gg_snapshots_new(struct gg_snapshots **ret_snapshots, struct gg_profile *profile,
                     const struct gg_snapshots_options *options, struct gg_error *error)
{
	struct gg_snapshots *snapshots = calloc(1, sizeof(*snapshots));
	struct gg_profile_process process;
	int status;

	gg_assert(options->spacing_ns > 0);
	if (snapshots == NULL)
		return gg_error_memory(error, "import");
	snapshots->profile = profile;
	snapshots->options = *options;
	snapshots->session = (struct gg_profile_session){ .command = options->command,
		                                          .start_wall_ns = options->start_wall_ns,
		                                          .scheme = GG_SCHEME_POISSON,
		                                          .exit_status = -1,
		                                          .has_history = true };
	process = process_of(snapshots);
	status = gg_profile_add_process(profile, &process, &snapshots->process, error);
	for (size_t i = 0; i < options->label_count && status == 0; i++)
		status = gg_profile_put_label(profile, snapshots->process, options->labels[i].key,
		                              options->labels[i].value, error);
	if (status == 0)
		status = gg_profile_set_session(profile, &snapshots->session, error);
	if (status < 0) {
		gg_snapshots_free(snapshots);
		return status;
	}
	*ret_snapshots = snapshots;
	return 0;
}

int gg_snapshots_add(struct gg_snapshots *snapshots, struct gg_input *input, int64_t number,
                     struct gg_error *error)
{
	bool is_first = snapshots->last == 0;
	struct gg_profile_process process;
	int status;

	gg_assert(number > snapshots->last);
	snapshots->error = error;
	status = read_snapshot(snapshots, input);
	if (status == 0 && is_restarted(snapshots)) {
		status = begin_again(snapshots, number);
		is_first = true;
	}
	for (size_t i = 0; i < snapshots->sites.count && status == 0; i++)
		status = compare_site(snapshots, &snapshots->sites.items[i], number, is_first);
	if (status == 0)
		status = write_live(snapshots);
	if (status < 0)
		return status;
	snapshots->last = number;
	snapshots->session.end_ns = number * snapshots->options.spacing_ns;
	process = process_of(snapshots);
	status = gg_profile_update_process(snapshots->profile, snapshots->process, &process, error);
	if (status == 0)
		status = gg_profile_set_session(snapshots->profile, &snapshots->session, error);
	return status == 0 ? gg_profile_commit(snapshots->profile, error) : status;
}

double gg_snapshots_live_bytes(const struct gg_snapshots *snapshots)
{
	double bytes = 0;

	for (size_t i = 0; i < snapshots->sites.count; i++)
		bytes += snapshots->sites.items[i].before.live_bytes;
	return bytes;
}

void gg_snapshots_free(struct gg_snapshots *snapshots)
{
	if (snapshots == NULL)
		return;
	for (size_t i = 0; i < snapshots->sites.count; i++)
		gg_array_done(&snapshots->sites.items[i].live);
	gg_array_done(&snapshots->sites);
	gg_map_done(&snapshots->by_key);
	free(snapshots);
}
