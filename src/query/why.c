/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why - makes the rows of RSS out of mappings and the parts of the heap (query/why.h).
 */
#include "query/why.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/size.h"
#include "query/why_advice.h"
#include "query/why_heap.h"
#include "query/why_totals.h"
#include "stats/estimate/interval.h"

const char *gg_why_certainty_name(enum gg_why_certainty certainty)
{
	static const char *const names[GG_WHY_CERTAINTY_COUNT] = {
		[GG_WHY_EXACT] = "exact",
		[GG_WHY_INTERVAL] = "interval",
		[GG_WHY_BOUND] = "bound",
	};

	return names[certainty];
}

/* The sums of the mappings of one kind. */
struct kind_sums {
	double rss, lazy_free, huge, count, largest;
	const char *largest_name;
};

struct making {
	const struct gg_why_input *input;
	struct gg_why *why;
	struct kind_sums kinds[GG_MAPPING_KIND_COUNT];
	struct gg_why_heap heap;
	bool has_failed;
};

static bool is_heap(uint32_t kind)
{
	return kind == GG_MAPPING_HEAP || kind == GG_MAPPING_ARENA || kind == GG_MAPPING_MALLOC;
}

static double known(int64_t bytes)
{
	return bytes > 0 ? (double)bytes : 0;
}

static void add_kinds(struct making *making)
{
	for (size_t i = 0; i < making->input->mapping_count; i++) {
		const struct gg_profile_look_mapping *mapping = &making->input->mappings[i];
		struct kind_sums *sums = &making->kinds[mapping->kind];
		double rss = known(mapping->rss_bytes);

		sums->rss += rss;
		sums->lazy_free += fmin(known(mapping->lazy_free_bytes), rss);
		sums->huge += fmin(known(mapping->huge_bytes), rss);
		sums->count += known(mapping->mapping_count);
		if (mapping->name != NULL && rss > sums->largest) {
			sums->largest = rss;
			sums->largest_name = mapping->name;
		}
	}
}

/* Appends a row, which gets `detail` (NULL: none); a row of nothing for certain is left out. */
static void add_row(struct making *making, gg_why_row_array *rows, const char *name,
                    const struct gg_why_part *part, const char *detail)
{
	struct gg_why_row *row;

	if (!(part->high > 0))
		return;
	row = gg_array_add(rows);
	if (row == NULL) {
		making->has_failed = true;
		return;
	}
	*row = (struct gg_why_row){ .name = name,
		                    .bytes = part->bytes,
		                    .low = part->low,
		                    .high = part->high,
		                    .certainty = part->certainty,
		                    .detail = detail != NULL ? strdup(detail) : NULL,
		                    .advice_bytes = NAN };
	making->has_failed |= detail != NULL && row->detail == NULL;
}

static void add_exact(struct making *making, const char *name, double bytes, const char *detail)
{
	const struct gg_why_part part = { bytes, bytes, bytes, GG_WHY_EXACT };

	add_row(making, &making->why->rows, name, &part, detail);
}

/* --- the heap ------------------------------------------------------------------------------- */

/*
 * Memory that jemalloc states to hold may lie in mappings that no sample of its blocks shows.  If
 * the statement is old, only active pages and metadata count: time alone may have returned others.
 */
static double hidden_heap(const struct making *making, double heap)
{
	double resident = gg_why_slab_total(making->input, "resident");
	double kept = gg_why_slab_total(making->input, "active") +
	              gg_why_slab_total(making->input, "metadata");
	const struct kind_sums *other = &making->kinds[GG_MAPPING_ANONYMOUS];

	/* libgeiger-malloc does not state which of its pages are resident. */
	if (resident < 0 && kept >= 0)
		resident = kept;
	if (gg_why_slab_total(making->input, "changed") >= 0)
		resident = fmin(resident, kept);
	return fmin(fmax(floor(resident) - heap, 0), other->rss - other->lazy_free);
}

/*
 * Says that pinned memory was reduced, unless the two numbers look alike: reports by stack show the
 * estimate as it was.
 */
static void describe(const struct gg_why_heap *heap, int part, const char *text, struct gg_buf *out)
{
	char before[GG_SIZE_TEXT_MAX], after[GG_SIZE_TEXT_MAX];

	gg_buf_append_text(out, text);
	if (part != GG_WHY_PINNED || !(heap->parts[part].bytes < heap->pinned_estimate))
		return;
	gg_size_format(heap->pinned_estimate, before);
	gg_size_format(heap->parts[part].bytes, after);
	if (strcmp(before, after) != 0)
		gg_buf_printf(out, "; reduced from %s so that rows add up", before);
}

/* Says that the estimate rests on an answer which the allocator gave before the look. */
static void describe_age(const struct making *making, int part, struct gg_buf *out)
{
	double changed = gg_why_slab_total(making->input, "changed");
	char text[GG_SIZE_TEXT_MAX];

	if (part == GG_WHY_PINNED && changed > 0)
		gg_buf_printf(out, "; by the allocator's last answer, up to %s changed since",
		              gg_size_format(changed, text));
}

static void add_heap(struct making *making)
{
	static const char *const names[GG_WHY_REST] = {
		[GG_WHY_LIVE] = "live",     [GG_WHY_ROUNDING] = "rounding",
		[GG_WHY_PINNED] = "pinned", [GG_WHY_RETURNABLE] = "returnable",
		[GG_WHY_CACHES] = "caches", [GG_WHY_METADATA] = "metadata",
		[GG_WHY_HUGE] = "huge",     [GG_WHY_OLDER] = "older",
	};
	static const char *const details[GG_WHY_REST] = {
		[GG_WHY_LIVE] = "blocks as requested, resident",
		[GG_WHY_ROUNDING] = "blocks are larger than requested",
		[GG_WHY_PINNED] = "free, on pages that live blocks hold",
		[GG_WHY_RETURNABLE] = "free, whole pages",
		[GG_WHY_CACHES] = "free, in caches of threads or sizes",
		[GG_WHY_METADATA] = "the allocator's own",
		[GG_WHY_HUGE] = "unused, in huge pages",
		[GG_WHY_OLDER] = "blocks from before the attach",
	};
	static const char busy_detail[] = "resident blocks; many were freed during the look";
	bool is_busy = gg_why_is_busy(making->input);
	struct gg_why_part all = { 0 };

	for (int i = 0; i < GG_WHY_REST && making->input->has_agent; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf detail = { 0 };

		describe(&making->heap, i, i == GG_WHY_LIVE && is_busy ? busy_detail : details[i],
		         &detail);
		describe_age(making, i, &detail);
		making->has_failed |= detail.failed;
		add_row(making, &making->why->rows, names[i], &making->heap.parts[i],
		        gg_buf_text(&detail));
	}
	if (making->input->has_agent)
		return;
	all.bytes = all.low = all.high = making->heap.bytes;
	add_row(making, &making->why->rows, "heap", &all, "live and free together");
}

/* Resident bytes of sampled mappings beyond those that the kernel shows apart from malloc's. */
static double hidden_samples(const struct making *making)
{
	double sampled = 0;

	for (size_t i = 0; i < making->input->sample_count; i++) {
		const struct gg_why_sample *sample = &making->input->samples[i];

		if (sample->is_mapping && sample->is_seen)
			sampled += known(sample->resident_bytes);
	}
	return fmax(sampled - making->kinds[GG_MAPPING_SAMPLED].rss, 0);
}

/* Memory of variables that lies behind modules: the kernel joins mappings that follow it. */
static double unnamed_data(const struct making *making)
{
	double bytes = 0;

	for (size_t i = 0; i < making->input->mapping_count; i++)
		if (making->input->mappings[i].kind == GG_MAPPING_DATA &&
		    making->input->mappings[i].name == NULL)
			bytes += known(making->input->mappings[i].rss_bytes) -
			         known(making->input->mappings[i].lazy_free_bytes);
	return fmax(bytes, 0);
}

/*
 * The kernel also joins blocks of malloc to variables, which no kind of mapping shows unless such a
 * block is a live sample.  The other kinds lack `bytes` of what glibc has mapped.
 */
static void take_from_data(struct making *making, double bytes)
{
	bytes = fmax(fmin(bytes, unnamed_data(making)), 0);
	making->kinds[GG_MAPPING_DATA].rss -= bytes;
	making->kinds[GG_MAPPING_MALLOC].rss += bytes;
}

/*
 * A mapping with blocks of malloc may also hold memory that the program mapped itself, because the
 * kernel joins adjacent mappings.  If the look knows what glibc has there, or what Python has, the
 * other memory counts as mapped by the program: by functions as far as samples know them.
 */
static void move_mapped(struct making *making)
{
	double mapped = gg_why_total(making->input, "glibc.mapped");
	double pools = gg_why_total(making->input, "python.pools");
	struct kind_sums *sums = &making->kinds[GG_MAPPING_MALLOC];
	struct kind_sums *other = &making->kinds[GG_MAPPING_ANONYMOUS];
	double joined = sums->rss - sums->lazy_free, apart = other->rss - other->lazy_free;
	double moved = fmin(fmax(pools - apart, 0), joined), sampled;

	if (mapped >= 0) {
		moved = fmax(joined - mapped, -apart);
		take_from_data(making, mapped - (joined - moved));
	}
	sampled = fmin(fmax(moved, 0), hidden_samples(making));
	sums->rss -= moved;
	making->kinds[GG_MAPPING_SAMPLED].rss += sampled;
	other->rss += moved - sampled;
}

/*
 * True if older blocks may lie in mappings that nothing tells from the program's own: without live
 * samples in them, only the allocator's own sums say which mappings are its.
 */
static bool hides_older(const struct making *making)
{
	const struct gg_why_input *input = making->input;
	bool knows_mapped = gg_why_total(input, "glibc.mapped") >= 0 ||
	                    (gg_why_slab_total(input, "resident") >= 0 &&
	                     gg_why_slab_total(input, "changed") < 0);

	return input->is_attached && input->has_agent && !knows_mapped;
}

/* Raises the upper end of older memory by what may be hidden. */
static void widen_older(struct making *making)
{
	const struct kind_sums *other = &making->kinds[GG_MAPPING_ANONYMOUS];
	struct gg_why_part *older = &making->heap.parts[GG_WHY_OLDER];
	double most = making->input->older_bytes >= 0 ? ceil(making->input->older_bytes) : INFINITY;
	double hidden;

	if (!hides_older(making))
		return;
	hidden = other->rss - other->lazy_free + unnamed_data(making);
	older->high = fmax(fmin(older->high + hidden, most), older->high);
	if (older->low < older->high && older->certainty == GG_WHY_EXACT)
		older->certainty = GG_WHY_BOUND;
}

static void divide_heap(struct making *making)
{
	struct gg_why_heap *heap = &making->heap;
	double hidden;

	move_mapped(making);
	for (uint32_t kind = 0; kind < GG_MAPPING_KIND_COUNT; kind++)
		if (is_heap(kind)) {
			heap->bytes += making->kinds[kind].rss - making->kinds[kind].lazy_free;
			heap->huge_bytes += making->kinds[kind].huge;
			heap->lazy_free_bytes += making->kinds[kind].lazy_free;
		}
	hidden = hidden_heap(making, heap->bytes);
	heap->bytes += hidden;
	making->kinds[GG_MAPPING_ANONYMOUS].rss -= hidden;
	if (making->input->has_agent)
		gg_why_divide_heap(heap, making->input);
	widen_older(making);
}

/* --- mappings ------------------------------------------------------------------------------- */

static void add_stacks(struct making *making)
{
	const struct kind_sums *sums = &making->kinds[GG_MAPPING_STACK];
	int64_t threads = making->input->look->thread_count;
	GG_CLEANUP(gg_buf_done) struct gg_buf detail = { 0 };

	if (threads > 0)
		gg_buf_printf(&detail, "of %" PRId64 " thread%s", threads, threads == 1 ? "" : "s");
	add_exact(making, "stacks", sums->rss - sums->lazy_free,
	          threads > 0 ? gg_buf_text(&detail) : NULL);
}

/* A row for each name, largest first, as the look has them. */
static void add_named(struct making *making)
{
	for (size_t i = 0; i < making->input->mapping_count; i++) {
		const struct gg_profile_look_mapping *mapping = &making->input->mappings[i];
		double rss = known(mapping->rss_bytes);

		if (mapping->kind == GG_MAPPING_NAMED)
			add_exact(making, "mappings",
			          rss - fmin(known(mapping->lazy_free_bytes), rss),
			          mapping->name != NULL ? mapping->name : "other names");
	}
}

/* Resident bytes of mappings by the function that asked for them. */
struct mapped_memory {
	const char *function;
	double bytes;
};

static int compare_mapped(const void *left, const void *right)
{
	const struct mapped_memory *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return strcmp(a->function, b->function);
}

typedef GG_ARRAY(struct mapped_memory) mapped_array;

static void add_mapped(struct making *making, mapped_array *array,
                       const struct gg_why_sample *sample)
{
	const char *function = sample->function != NULL ? sample->function : "[unknown]";
	size_t i = 0;

	while (i < array->count && strcmp(array->items[i].function, function) != 0)
		i++;
	if (i < array->count)
		array->items[i].bytes += (double)sample->resident_bytes;
	else if (!gg_array_push(array,
	                        (struct mapped_memory){ function, (double)sample->resident_bytes }))
		making->has_failed = true;
}

static void add_sampled(struct making *making)
{
	const struct kind_sums *sums = &making->kinds[GG_MAPPING_SAMPLED];
	double left = sums->rss - sums->lazy_free;
	mapped_array array = { 0 };

	for (size_t i = 0; i < making->input->sample_count; i++)
		if (making->input->samples[i].is_mapping && making->input->samples[i].is_seen &&
		    making->input->samples[i].resident_bytes > 0)
			add_mapped(making, &array, &making->input->samples[i]);
	if (array.count > 0)
		qsort(array.items, array.count, sizeof(*array.items), compare_mapped);
	for (size_t i = 0; i < array.count; i++) {
		double bytes = fmin(array.items[i].bytes, left);

		add_exact(making, "mappings", bytes, array.items[i].function);
		left -= bytes;
	}
	add_exact(making, "mappings", left,
	          array.count > 0 ? "other calls of mmap()" : "calls of mmap()");
	gg_array_done(&array);
}

static void add_files(struct making *making)
{
	const struct kind_sums *sums = &making->kinds[GG_MAPPING_FILE];
	GG_CLEANUP(gg_buf_done) struct gg_buf detail = { 0 };

	if (sums->largest_name != NULL)
		gg_buf_printf(&detail, "largest: %s", sums->largest_name);
	add_exact(making, "files", sums->rss - sums->lazy_free,
	          sums->largest_name != NULL ? gg_buf_text(&detail) : NULL);
}

static double without_lazy_free(const struct making *making, enum gg_mapping_kind kind)
{
	return making->kinds[kind].rss - making->kinds[kind].lazy_free;
}

/* Returns the reason why nothing walked through the whole heap, if the look has one. */
static const char *detail_of_rest(const struct gg_why_input *input)
{
	static const struct {
		const char *total, *detail;
	} obstacles[] = {
		{ GG_WHY_UNWALKED, "of the heap: too large to walk through" },
		{ "glibc.unwalked-swapped", "of the heap: partly swapped out" },
		{ "glibc.unwalked-unexpected", "of the heap: its chunks are unusual" },
		{ "glibc.uncounted-fast",
		  "of the heap: lists of free blocks (fast bins) are too large to count" },
		{ "glibc.uncounted", "of the heap: caches of threads are too large to count" },
		{ "glibc.unread", "of the heap: it changed too fast to be read whole" },
		{ "glibc.changed", "of the heap: it changed during the look" },
	};

	for (size_t i = 0; i < GG_COUNT(obstacles); i++)
		if (gg_why_total(input, obstacles[i].total) > 0)
			return obstacles[i].detail;
	return input->in_heaps.sample_count > 0
	               ? "of the heap: free, or in heaps that the program registered"
	               : "of the heap: free, not told apart";
}

/* Mappings that no sample and no name explains: Python's arenas, by what is in them, and others. */
static void add_unnamed(struct making *making)
{
	double bytes = without_lazy_free(making, GG_MAPPING_ANONYMOUS);
	double pools = gg_why_total(making->input, "python.pools");
	double free_bytes = gg_why_total(making->input, "python.pools-free");
	GG_CLEANUP(gg_buf_done) struct gg_buf detail = { 0 };
	char size[GG_SIZE_TEXT_MAX];

	/* Some of them may be in mappings that have samples. */
	pools = fmin(fmax(pools - making->kinds[GG_MAPPING_SAMPLED].rss, 0), bytes);
	gg_buf_append_text(&detail, GG_WHY_PYTHON_ARENAS);
	if (free_bytes >= 0)
		gg_buf_printf(&detail, ", %s of it free", gg_size_format(free_bytes, size));
	add_exact(making, "mappings", pools, gg_buf_text(&detail));
	add_exact(making, "mappings", bytes - pools,
	          hides_older(making)        ? GG_WHY_UNNAMED "; some may be older blocks"
	          : making->input->has_agent ? GG_WHY_UNNAMED
	                                     : "without a name; malloc() maps large blocks");
}

static void add_mappings(struct making *making)
{
	const struct gg_why_part *rest = &making->heap.parts[GG_WHY_REST];
	double lazy_free = 0;

	for (uint32_t kind = 0; kind < GG_MAPPING_KIND_COUNT; kind++)
		lazy_free += making->kinds[kind].lazy_free;
	add_exact(making, "lazy-free", lazy_free, "free, until the kernel takes it");
	add_stacks(making);
	add_sampled(making);
	add_named(making);
	add_unnamed(making);
	add_exact(making, "data", without_lazy_free(making, GG_MAPPING_DATA),
	          "variables of programs and libraries");
	add_files(making);
	add_exact(making, "shared", without_lazy_free(making, GG_MAPPING_SHARED),
	          making->kinds[GG_MAPPING_SHARED].largest_name);
	add_exact(making, "geiger", without_lazy_free(making, GG_MAPPING_GEIGER), "geiger itself");
	add_row(making, &making->why->rows, "rest", rest, detail_of_rest(making->input));
}

/* --- beside --------------------------------------------------------------------------------- */

static void add_beside(struct making *making, const char *name, int64_t bytes, const char *detail)
{
	double value = (double)bytes;
	const struct gg_why_part part = { value, value, value, GG_WHY_EXACT };

	if (bytes >= 0)
		add_row(making, &making->why->beside, name, &part, detail);
}

/* Live memory of heaps that the program registered lies in mappings, or in blocks of malloc. */
static void add_in_heaps(struct making *making)
{
	const struct gg_tally *tally = &making->input->in_heaps;
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, making->input->confidence,
	                                             false);
	struct gg_why_part part = { .bytes = round(gg_tally_estimate(tally, GG_BYTES).value),
		                    .certainty = GG_WHY_INTERVAL };

	if (tally->sample_count == 0)
		return;
	part.low = fmin(floor(interval.low), part.bytes);
	part.high = fmax(ceil(interval.high), part.bytes);
	if (part.low == part.high)
		part.certainty = GG_WHY_EXACT;
	add_row(making, &making->why->beside, "live-in-heaps", &part,
	        "live, in heaps that the program registered");
}

static void add_all_beside(struct making *making)
{
	const struct gg_profile_look *look = making->input->look;
	gg_why_row_array *beside = &making->why->beside;

	add_row(making, beside, "live-not-resident", &making->heap.untouched,
	        "live, but never touched");
	add_row(making, beside, "live-swapped", &making->heap.swapped, "live, but swapped out");
	add_in_heaps(making);
	add_beside(making, "pss", look->pss_bytes, "shared pages in shares");
	add_beside(making, "swap", look->swap_bytes, "of the process");
	add_beside(making, "cgroup-anonymous", look->cgroup_anonymous_bytes,
	           "its anonymous memory");
	add_beside(making, "cgroup-file", look->cgroup_file_bytes, "its page cache");
	add_beside(making, "cgroup-kernel", look->cgroup_kernel_bytes, "its memory in the kernel");
}

static void find_older(struct making *making)
{
	const struct gg_why_part *older = &making->heap.parts[GG_WHY_OLDER];
	struct gg_why *why = making->why;

	why->older_bytes = why->older_low = why->older_high = NAN;
	if (!making->input->is_attached || !making->input->has_agent)
		return;
	why->older_bytes = older->bytes;
	why->older_low = older->low;
	why->older_high = older->high;
}

static void find_ratios(struct making *making)
{
	const struct gg_why_part *parts = making->heap.parts;
	struct gg_why *why = making->why;
	double blocks = parts[GG_WHY_LIVE].bytes + parts[GG_WHY_ROUNDING].bytes +
	                parts[GG_WHY_METADATA].bytes + parts[GG_WHY_OLDER].bytes;
	double held = blocks + parts[GG_WHY_PINNED].bytes;
	double heap = making->heap.bytes + making->heap.lazy_free_bytes;

	why->block_bytes = blocks;
	why->pinned_ratio = blocks > 0 ? held / blocks : NAN;
	why->kept_ratio = held > 0 ? heap / held : NAN;
	why->overhead_ratio = heap > 0 ? (double)why->rss_bytes / heap : NAN;
}

static const char *reason_of(const struct making *making)
{
	const struct gg_profile_look *look = making->input->look;

	if (look->reason != NULL)
		return look->reason;
	if (!making->input->has_agent)
		return "no agent is inside the process, so its heap is one row; geiger record or geiger "
		       "env starts a program with it";
	if (making->heap.is_contradicted)
		return "samples hold more than the mappings of the allocator: some of their blocks "
		       "lie elsewhere";
	return NULL;
}

int gg_why_of_look(struct gg_why *ret_why, const struct gg_why_input *input, struct gg_error *error)
{
	struct making making = { .input = input, .why = ret_why };
	const char *reason;

	*ret_why = (struct gg_why){ .process = input->look->process,
		                    .time_ns = input->look->time_ns };
	add_kinds(&making);
	for (int kind = 0; kind < GG_MAPPING_KIND_COUNT; kind++)
		ret_why->rss_bytes += (int64_t)making.kinds[kind].rss;
	divide_heap(&making);
	add_heap(&making);
	add_mappings(&making);
	add_all_beside(&making);
	find_older(&making);
	find_ratios(&making);
	reason = reason_of(&making);
	if (reason != NULL)
		ret_why->reason = strdup(reason);
	making.has_failed |= reason != NULL && ret_why->reason == NULL;
	making.has_failed |= !gg_why_advise(ret_why, input);
	if (!making.has_failed)
		return 0;
	gg_why_done(ret_why);
	return gg_error_memory(error, "why");
}

static void rows_done(gg_why_row_array *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].detail);
		free(rows->items[i].advice);
	}
	gg_array_done(rows);
}

void gg_why_done(struct gg_why *why)
{
	rows_done(&why->rows);
	rows_done(&why->beside);
	free(why->reason);
	*why = (struct gg_why){ 0 };
}
