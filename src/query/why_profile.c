/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_profile - reads looks, and the samples that were live then, from a profile.
 */
#include "query/why_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A look with copies of its texts, and the live samples of its process. */
struct loaded {
	struct gg_profile_look look;
	uint32_t pid;
	char *command;
	double interval_bytes;
	GG_ARRAY(struct gg_profile_look_mapping) mappings;
	GG_ARRAY(struct gg_profile_look_total) totals;
	GG_ARRAY(struct gg_why_sample) samples;
	GG_ARRAY(struct gg_profile_look_block) blocks; /* in the order of sample ids */
	size_t block_at;                               /* the first block not joined yet */
	struct gg_tally live;
};

struct loading {
	const struct gg_why_options *options;
	GG_ARRAY(struct loaded) looks; /* in the order of ids */
	GG_ARRAY(char *) texts;
};

/* A copy that lives as long as the load; NULL for NULL. */
static int copy(struct loading *loading, const char **text)
{
	char *own;

	if (*text == NULL)
		return 0;
	own = strdup(*text);
	if (own == NULL || !gg_array_push(&loading->texts, own)) {
		free(own);
		return -ENOMEM;
	}
	*text = own;
	return 0;
}

static struct loaded *find_look(struct loading *loading, uint32_t id)
{
	for (size_t i = 0; i < loading->looks.count; i++)
		if (loading->looks.items[i].look.id == id)
			return &loading->looks.items[i];
	return NULL;
}

static int read_look(const struct gg_profile_look *look, void *context)
{
	struct loading *loading = context;
	uint32_t wanted = loading->options->moment == GG_WHY_PEAK ? GG_LOOK_PEAK : GG_LOOK_LAST;
	struct loaded *loaded;

	if ((look->moments & wanted) == 0)
		return 0;
	loaded = gg_array_add(&loading->looks);
	if (loaded == NULL)
		return -ENOMEM;
	loaded->look = *look;
	return copy(loading, &loaded->look.allocator) < 0 || copy(loading, &loaded->look.reason) < 0
	               ? -ENOMEM
	               : 0;
}

static int read_mapping(const struct gg_profile_look_mapping *mapping, void *context)
{
	struct loading *loading = context;
	struct loaded *loaded = find_look(loading, mapping->look);
	struct gg_profile_look_mapping own = *mapping;

	if (loaded == NULL)
		return 0;
	return copy(loading, &own.name) < 0 || !gg_array_push(&loaded->mappings, own) ? -ENOMEM : 0;
}

static int read_total(const struct gg_profile_look_total *total, void *context)
{
	struct loading *loading = context;
	struct loaded *loaded = find_look(loading, total->look);
	struct gg_profile_look_total own = *total;

	if (loaded == NULL || total->bytes < 0)
		return 0;
	return copy(loading, &own.name) < 0 || !gg_array_push(&loaded->totals, own) ? -ENOMEM : 0;
}

static int read_block(const struct gg_profile_look_block *block, void *context)
{
	struct loaded *loaded = find_look(context, block->look);

	return loaded == NULL || gg_array_push(&loaded->blocks, *block) ? 0 : -ENOMEM;
}

static int read_process(const struct gg_profile_process *process, void *context)
{
	struct loading *loading = context;

	for (size_t i = 0; i < loading->looks.count; i++) {
		struct loaded *loaded = &loading->looks.items[i];

		if (loaded->look.process != process->id)
			continue;
		loaded->pid = process->pid;
		loaded->interval_bytes = process->interval_bytes;
		free(loaded->command);
		loaded->command = process->command != NULL ? strdup(process->command) : NULL;
		gg_tally_expose(&loaded->live, process->interval_bytes);
	}
	return 0;
}

/* Both are sorted by sample. */
static const struct gg_profile_look_block *block_of(struct loaded *loaded, uint64_t sample)
{
	while (loaded->block_at < loaded->blocks.count &&
	       loaded->blocks.items[loaded->block_at].sample < sample)
		loaded->block_at++;
	return loaded->block_at < loaded->blocks.count &&
	                       loaded->blocks.items[loaded->block_at].sample == sample
	               ? &loaded->blocks.items[loaded->block_at]
	               : NULL;
}

static int add_sample(struct loaded *loaded, const struct gg_profile_sample *sample)
{
	struct gg_why_sample *own = gg_array_add(&loaded->samples);
	const struct gg_profile_look_block *block = block_of(loaded, sample->id);

	if (own == NULL)
		return -ENOMEM;
	own->draw = sample->draw;
	own->size_bytes = sample->size_bytes;
	own->slack_bytes = sample->usable_bytes > sample->size_bytes
	                           ? sample->usable_bytes - sample->size_bytes
	                           : 0;
	own->is_mapping = (sample->flags & GG_PROFILE_SAMPLE_MAPPING) != 0;
	own->is_seen = block != NULL;
	own->resident_bytes = block != NULL ? block->resident_bytes : -1;
	own->swapped_bytes = block != NULL ? block->swapped_bytes : -1;
	own->pinned_bytes = block != NULL ? block->pinned_bytes : -1;
	own->returnable_bytes = block != NULL ? block->returnable_bytes : -1;
	if (!own->is_mapping)
		gg_tally_add(&loaded->live, &sample->draw, sample->size_bytes);
	return 0;
}

static int read_sample(const struct gg_profile_sample *sample, void *context)
{
	struct loading *loading = context;

	for (size_t i = 0; i < loading->looks.count; i++) {
		struct loaded *loaded = &loading->looks.items[i];

		if (loaded->look.process == sample->process &&
		    sample->alloc_ns <= loaded->look.time_ns &&
		    sample->free_ns > loaded->look.time_ns && add_sample(loaded, sample) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int load(struct loading *loading, struct gg_profile *profile, struct gg_error *error)
{
	int status = gg_profile_each_look(profile, read_look, loading, error);

	if (status == 0)
		status = gg_profile_each_look_mapping(profile, read_mapping, loading, error);
	if (status == 0)
		status = gg_profile_each_look_total(profile, read_total, loading, error);
	if (status == 0)
		status = gg_profile_each_look_block(profile, read_block, loading, error);
	if (status == 0)
		status = gg_profile_each_process(profile, read_process, loading, error);
	if (status == 0 && loading->looks.count > 0)
		status = gg_profile_each_sample(profile, read_sample, loading, error);
	return status == -ENOMEM ? gg_error_memory(error, "why") : status;
}

static void loading_done(struct loading *loading)
{
	for (size_t i = 0; i < loading->looks.count; i++) {
		struct loaded *loaded = &loading->looks.items[i];

		gg_array_done(&loaded->mappings);
		gg_array_done(&loaded->totals);
		gg_array_done(&loaded->samples);
		gg_array_done(&loaded->blocks);
		free(loaded->command);
	}
	for (size_t i = 0; i < loading->texts.count; i++)
		free(loading->texts.items[i]);
	gg_array_done(&loading->looks);
	gg_array_done(&loading->texts);
}

static int compare_tables(const void *left, const void *right)
{
	const struct gg_why_table *a = left, *b = right;

	if (a->why.rss_bytes != b->why.rss_bytes)
		return a->why.rss_bytes > b->why.rss_bytes ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

static int divide(struct gg_why_list *list, struct loaded *loaded, double confidence,
                  struct gg_error *error)
{
	struct gg_why_table *table = &list->tables[list->table_count];
	const struct gg_why_input input = {
		.look = &loaded->look,
		.mappings = loaded->mappings.items,
		.totals = loaded->totals.items,
		.mapping_count = loaded->mappings.count,
		.total_count = loaded->totals.count,
		.samples = loaded->samples.items,
		.sample_count = loaded->samples.count,
		.live = loaded->live,
		.has_agent = loaded->samples.count > 0 || loaded->interval_bytes > 0,
		.confidence = confidence,
	};
	int status = gg_why_of_look(&table->why, &input, error);

	if (status < 0)
		return status;
	table->process = loaded->look.process;
	table->pid = loaded->pid;
	table->command = loaded->command;
	loaded->command = NULL;
	list->table_count++;
	return 0;
}

int gg_why_of_profile(struct gg_why_list *ret_list, struct gg_profile *profile,
                      const struct gg_why_options *options, struct gg_error *error)
{
	struct loading loading = { .options = options };
	int status = load(&loading, profile, error);

	*ret_list = (struct gg_why_list){ 0 };
	if (status == 0 && loading.looks.count > 0) {
		ret_list->tables = calloc(loading.looks.count, sizeof(*ret_list->tables));
		if (ret_list->tables == NULL)
			status = gg_error_memory(error, "why");
	}
	for (size_t i = 0; i < loading.looks.count && status == 0; i++)
		if (options->pid == 0 || loading.looks.items[i].pid == options->pid)
			status = divide(ret_list, &loading.looks.items[i], options->confidence,
			                error);
	loading_done(&loading);
	if (status < 0)
		gg_why_list_done(ret_list);
	else if (ret_list->table_count > 1)
		qsort(ret_list->tables, ret_list->table_count, sizeof(*ret_list->tables),
		      compare_tables);
	return status;
}

void gg_why_list_done(struct gg_why_list *list)
{
	for (size_t i = 0; i < list->table_count; i++) {
		free(list->tables[i].command);
		gg_why_done(&list->tables[i].why);
	}
	free(list->tables);
	*list = (struct gg_why_list){ 0 };
}
