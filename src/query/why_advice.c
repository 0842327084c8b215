/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_advice - the advice of each row.
 *
 * A row gets one only if it is large, because each advice costs a person time.
 */
#include "query/why_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/size.h"
#include "query/why_totals.h"

/* A row is large from this share of RSS on, and from this many bytes on. */
static const double large_share = 0.05, large_bytes = 1 << 20;

static bool is_large(const struct gg_why *why, double bytes)
{
	return bytes >= large_bytes && bytes >= large_share * (double)why->rss_bytes;
}

static struct gg_why_row *find_row(const struct gg_why *why, const char *name)
{
	for (size_t i = 0; i < why->rows.count; i++)
		if (strcmp(why->rows.items[i].name, name) == 0)
			return &why->rows.items[i];
	return NULL;
}

/* The row of that name if it is large and has no advice yet; or NULL. */
static struct gg_why_row *find_large(const struct gg_why *why, const char *name)
{
	struct gg_why_row *row = find_row(why, name);

	return row != NULL && row->advice == NULL && is_large(why, row->bytes) ? row : NULL;
}

static bool set(struct gg_why_row *row, double bytes, const char *text)
{
	row->advice = strdup(text);
	row->advice_bytes = bytes;
	return row->advice != NULL;
}

/* The large row that has most of the allocator's free memory, or NULL. */
static struct gg_why_row *find_most_free(const struct gg_why *why)
{
	static const char *const names[] = { "returnable", "pinned", "rest" };
	struct gg_why_row *most = NULL;

	for (size_t i = 0; i < GG_COUNT(names); i++) {
		struct gg_why_row *row = find_row(why, names[i]);

		if (row != NULL && is_large(why, row->bytes) &&
		    (most == NULL || row->bytes > most->bytes))
			most = row;
	}
	return most;
}

/*
 * Adds an advice to the one that the row has, if it has one.  The text may concern several rows,
 * but nothing returns more of this one than it has.
 */
static bool add(struct gg_why_row *row, double bytes, const char *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf both = { 0 };

	bytes = fmin(bytes, row->bytes);
	if (row->advice == NULL)
		return set(row, bytes, text);
	gg_buf_printf(&both, "%s; %s", row->advice, text);
	if (both.failed)
		return false;
	free(row->advice);
	/* Each sentence has its bytes; the most of them bounds what both may return. */
	return set(row, fmax(row->advice_bytes, bytes), gg_buf_text(&both));
}

/* Arenas as a walk knows them: fewer of them return their free memory at most. */
static bool advise_known_arenas(struct gg_why_row *row, const struct gg_why *why,
                                const struct gg_why_input *input)
{
	double arenas = gg_why_total(input, "glibc.arenas");
	double in_use = gg_why_total(input, "glibc.arenas-in-use");
	double count = gg_why_total(input, "glibc.arena-count");
	bool has_changed = gg_why_total(input, "glibc.changed") > 0;
	char text[256], size[GG_SIZE_TEXT_MAX], used[GG_SIZE_TEXT_MAX], most[GG_SIZE_TEXT_MAX];

	if (count < 2 || !is_large(why, arenas - in_use))
		return true;
	snprintf(text, sizeof(text),
	         "%.0f arenas beside the main one hold %s, and blocks in use need %s of it: with "
	         "fewer arenas, as by MALLOC_ARENA_MAX=2, RSS may be less, by %s%s at most",
	         count, gg_size_format(arenas, size), gg_size_format(in_use, used),
	         has_changed ? "about " : "", gg_size_format(arenas - in_use, most));
	return add(row, arenas - in_use, text);
}

/* Arenas by their mappings: nothing tells how much of them is in use. */
static bool advise_mapped_arenas(struct gg_why_row *row, const struct gg_why *why,
                                 const struct gg_why_input *input)
{
	double arenas = 0, count = 0;
	char text[192], size[GG_SIZE_TEXT_MAX];

	for (size_t i = 0; i < input->mapping_count; i++)
		if (input->mappings[i].kind == GG_MAPPING_ARENA) {
			arenas += (double)input->mappings[i].rss_bytes;
			count += (double)input->mappings[i].mapping_count;
		}
	if (count < 2 || !is_large(why, fmin(arenas, row->bytes)))
		return true;
	snprintf(text, sizeof(text),
	         "%.0f heaps of arenas hold %s, used and free together: fewer arenas, as by "
	         "MALLOC_ARENA_MAX=2, keep less of it free",
	         count, gg_size_format(arenas, size));
	return add(row, fmin(arenas, row->bytes), text);
}

static bool advise_arenas(struct gg_why *why, const struct gg_why_input *input)
{
	struct gg_why_row *row = find_most_free(why);

	if (row == NULL)
		return true;
	return gg_why_total(input, "glibc.arena-count") >= 0
	               ? advise_known_arenas(row, why, input)
	               : advise_mapped_arenas(row, why, input);
}

/* A trim keeps the tops of all arenas but the main one, and a page of some gaps. */
static bool advise_trim(struct gg_why_row *row, const struct gg_why_input *input)
{
	const double nearly_all = 0.98;
	double bytes = gg_why_total(input, "glibc.trimmable");
	char text[128], size[GG_SIZE_TEXT_MAX];

	if (bytes < 0 || bytes >= nearly_all * row->bytes)
		return set(row, row->bytes, "malloc_trim(0) would return it");
	snprintf(text, sizeof(text), "malloc_trim(0) would return %s of it",
	         gg_size_format(bytes, size));
	return set(row, bytes, text);
}

/* Free memory of a heap that was too large has estimates, which a walk turns into exact rows. */
static bool advise_walk(struct gg_why *why, const struct gg_why_input *input)
{
	struct gg_why_row *row = find_row(why, "rest");

	if (row == NULL || row->advice != NULL || !is_large(why, row->high) ||
	    !(gg_why_total(input, GG_WHY_UNWALKED) > 0))
		return true;
	return set(row, NAN,
	           "the heap was too large to walk through in the time that a look may take; "
	           "geiger why PID walks through it while the process lives, and a recording does "
	           "when it has been quiet for a while");
}

/* Mappings by what the detail of their row says. */
static bool advise_mappings(struct gg_why *why, const struct gg_why_input *input)
{
	static const struct {
		const char *detail, *advice;
	} advices[] = {
		{ GG_WHY_PYTHON_ARENAS,
		  "geiger record shows which functions hold these objects: from the program's start "
		  "with CPython 3.8 to 3.13, or with PYTHONMALLOC=malloc" },
		{ GG_WHY_UNNAMED, "with --mmap, geiger record names the functions that map it" },
	};
	bool is_fine = true;

	for (size_t i = 0; i < why->rows.count && input->in_heaps.sample_count == 0; i++) {
		struct gg_why_row *row = &why->rows.items[i];

		if (strcmp(row->name, "mappings") != 0 || row->detail == NULL ||
		    !is_large(why, row->bytes))
			continue;
		for (size_t k = 0; k < GG_COUNT(advices); k++)
			if (strncmp(row->detail, advices[k].detail, strlen(advices[k].detail)) == 0)
				is_fine &= set(row, NAN, advices[k].advice);
	}
	return is_fine;
}

bool gg_why_advise(struct gg_why *why, const struct gg_why_input *input)
{
	const struct gg_profile_look *look = input->look;
	bool is_glibc = look->allocator != NULL && strcmp(look->allocator, "glibc") == 0;
	bool is_fine = true;
	struct gg_why_row *row;

	row = find_large(why, "returnable");
	if (row != NULL && is_glibc)
		is_fine &= advise_trim(row, input);
	row = find_large(why, "pinned");
	if (row != NULL)
		is_fine &= set(row, row->bytes,
		               "geiger report --metric pinned names the functions whose blocks "
		               "keep it");
	row = find_large(why, "lazy-free");
	if (row != NULL)
		is_fine &= set(row, row->bytes,
		               "it is free in fact (MADV_FREE): the kernel takes it when it needs "
		               "memory");
	row = find_large(why, "huge");
	if (row != NULL)
		is_fine &= set(
			row, row->bytes,
			"without transparent huge pages, prctl(PR_SET_THP_DISABLE), these pages "
			"would not be there");
	row = find_large(why, "stacks");
	if (row != NULL && look->thread_count > 1)
		is_fine &= set(row, NAN, "fewer threads have fewer stacks");
	return is_fine && advise_mappings(why, input) && advise_arenas(why, input) &&
	       advise_walk(why, input);
}
