/* SPDX-License-Identifier: Apache-2.0 */
#include "region/reader/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

enum {
	VIEW_ATTEMPTS = 10,
	RECORDS_MAX = 1 << 28 /* of a table: no writer has more, and it bounds what is read */
};

/* A file being read. */
struct source {
	int fd;
	uint64_t bytes;
	const char *place;
	struct gg_error *error;
};

static int damaged(const struct source *source, const char *what)
{
	return gg_error_set(source->error, -EBADMSG, source->place, NULL, "%s", what);
}

static int read_at(const struct source *source, void *to, uint64_t bytes, uint64_t offset)
{
	uint8_t *next = to;

	while (bytes > 0) {
		ssize_t got = pread(source->fd, next, bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gg_error_set_errno(source->error, errno, source->place, NULL);
		if (got == 0)
			return damaged(source, "ends early");
		next += got;
		offset += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return 0;
}

/* The number of tables that regions of that version have. */
static int table_count_of(uint32_t version)
{
	return version == 1   ? GG_TABLE_FRAMES
	       : version == 2 ? GG_TABLE_ALLOCATOR_BLOCKS
	       : version < 7  ? GG_TABLE_FAULTS
	                      : GG_TABLE_COUNT;
}

/* Headers before version 3 end with the description of their last table. */
static uint32_t header_bytes_of(uint32_t version)
{
	switch (version) {
	case GG_REGION_VERSION:
	case 6:
		return (uint32_t)sizeof(struct gg_region_header);
	case 5:
		return (uint32_t)offsetof(struct gg_region_header, exact);
	case 4:
		return (uint32_t)offsetof(struct gg_region_header, attach.age_ns);
	case 3:
		return (uint32_t)offsetof(struct gg_region_header, attach);
	default:
		return (uint32_t)gg_region_table_at(table_count_of(version));
	}
}

/* Reads the header; afterwards every table's used records lie inside the file. */
static int read_header(const struct source *source, struct gg_region_header *header)
{
	int status = source->bytes < GG_REGION_PAGE_BYTES
	                     ? damaged(source, "is not a region of geiger")
	                     : read_at(source, header, sizeof(*header), 0);

	if (status < 0)
		return status;
	if (header->magic != GG_REGION_MAGIC)
		return damaged(source, "is not a region of geiger");
	if (header->version < GG_REGION_VERSION_LEAST || header->version > GG_REGION_VERSION ||
	    header->header_bytes != header_bytes_of(header->version))
		return gg_error_set(source->error, -EBADMSG, source->place,
		                    "Use the geiger that recorded it.",
		                    "has version %u; this geiger reads version %d", header->version,
		                    GG_REGION_VERSION);
	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		struct gg_region_table *table = gg_region_table_of(header, i);

		if (i >= table_count_of(header->version)) {
			*table = (struct gg_region_table){ 0 };
			continue;
		}
		if (table->record_bytes != gg_region_record_bytes[i] ||
		    table->capacity > RECORDS_MAX || table->offset > source->bytes ||
		    table->offset < sizeof(*header) || table->offset % sizeof(uint64_t) != 0 ||
		    table->capacity * table->record_bytes > source->bytes - table->offset)
			return damaged(source, "is damaged: a table is not inside the file");
		if (table->used_count > table->capacity)
			return damaged(source, "is damaged: a table has more than it can hold");
	}
	if (header->version < 3)
		header->allocator = (struct gg_region_allocator_state){ 0 };
	if (header->version < 4)
		header->attach = (struct gg_region_attach){ 0 };
	if (header->version < 5)
		header->attach.age_ns = 0;
	if (header->version < 6)
		header->exact = (struct gg_region_exact){ 0 };
	if (header->command_bytes > GG_REGION_COMMAND_MAX)
		header->command_bytes = GG_REGION_COMMAND_MAX;
	if (header->exe_bytes > GG_REGION_EXE_MAX)
		header->exe_bytes = GG_REGION_EXE_MAX;
	if (header->options_bytes > GG_REGION_OPTIONS_MAX)
		header->options_bytes = GG_REGION_OPTIONS_MAX;
	return 0;
}

/* Reads the records in use into new memory. */
static int read_table(const struct source *source, const struct gg_region_header *header,
                      enum gg_region_table_id id, void *ret_records, uint32_t *ret_count)
{
	const struct gg_region_table *table = gg_region_table_of(header, id);
	uint64_t bytes = table->used_count * table->record_bytes;
	void *records = malloc(bytes > 0 ? bytes : 1);
	int status;

	if (records == NULL)
		return gg_error_memory(source->error, source->place);
	status = read_at(source, records, bytes, table->offset);
	if (status < 0) {
		free(records);
		return status;
	}
	memcpy(ret_records, &records, sizeof(records)); /* whatever type of pointer it is */
	*ret_count = (uint32_t)table->used_count;
	return 0;
}

void gg_region_view_done(struct gg_region_view *view)
{
	free(view->threads);
	free(view->modules);
	free(view->heaps);
	free(view->types);
	free(view->nodes);
	free(view->frames);
	free(view->strings);
	free(view->live);
	free(view->site_totals);
	free(view->slots);
	free(view->exact_totals);
	free(view->faults);
	*view = (struct gg_region_view){ 0 };
}

/* Do both copies of the slots show the same operations? */
static bool states_are_same(const struct gg_region_redo_slot *a,
                            const struct gg_region_redo_slot *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (a[i].state != b[i].state)
			return false;
	return true;
}

/* Has no thread begun or finished an operation since the slots were read? */
static int compare_slots(const struct source *source, const struct gg_region_view *view,
                         bool *ret_same)
{
	struct gg_region_header now;
	struct gg_region_redo_slot *slots = NULL;
	uint32_t count = 0;
	int status = read_header(source, &now);

	if (status == 0)
		status = read_table(source, &now, GG_TABLE_SLOTS, &slots, &count);
	if (status < 0)
		return status;
	*ret_same = count == view->slot_count && states_are_same(slots, view->slots, count);
	free(slots);
	return 0;
}

/*
 * Makes one attempt at a copy.  The order matters:
 *
 *   1. the slots of the redo log, for their states alone
 *   2. the slots again, because what they publish must be older than the tables
 *   3. the tables that operations change
 *   4. the slots a third time, to find out what changed meanwhile
 *   5. the tables that only grow, because samples and site totals refer to them
 *
 * One read alone does not say whether a slot's values belong to its state: the kernel copies in
 * whatever order it likes, and the values may be those of the operation before.
 */
static int copy_numbers(const struct source *source, struct gg_region_view *view)
{
	struct gg_region_redo_slot *before = NULL;
	uint32_t before_count = 0;
	bool is_same = false, is_unchanged = false;
	int status = read_header(source, &view->header);

	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_SLOTS, &before, &before_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_SLOTS, &view->slots,
		                    &view->slot_count);
	if (status == 0)
		is_same = states_are_same(before, view->slots, view->slot_count);
	free(before);
	/* Read the counts again: a published operation may name a record that is newer than the
	 * first header. */
	if (status == 0)
		status = read_header(source, &view->header);
	/* A thread puts its event after its operation, and none goes on if the copy is not torn. */
	view->ring_head = view->header.ring_head;
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_SITE_TOTALS, &view->site_totals,
		                    &view->site_total_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_LIVE, &view->live,
		                    &view->live_count);
	if (status == 0)
		status = compare_slots(source, view, &is_unchanged);
	view->torn = !is_same || !is_unchanged;
	/* Records that samples and site totals refer to are older than these, so a header of now
	 * counts them all. */
	if (status == 0)
		status = read_header(source, &view->header);
	return status;
}

static uint32_t used(const struct gg_region_view *view, enum gg_region_table_id id)
{
	return (uint32_t)gg_region_table_of(&view->header, id)->used_count;
}

static int copy_once(const struct source *source, bool has_names, struct gg_region_view *view)
{
	int status = copy_numbers(source, view);

	if (!has_names) {
		view->node_count = used(view, GG_TABLE_STACKS);
		view->frame_count = used(view, GG_TABLE_FRAMES);
		view->thread_count = used(view, GG_TABLE_THREADS);
		view->module_count = used(view, GG_TABLE_MODULES);
		view->heap_count = used(view, GG_TABLE_HEAPS);
		view->type_count = used(view, GG_TABLE_TYPES);
		return status;
	}
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_STACKS, &view->nodes,
		                    &view->node_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_FRAMES, &view->frames,
		                    &view->frame_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_THREADS, &view->threads,
		                    &view->thread_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_MODULES, &view->modules,
		                    &view->module_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_HEAPS, &view->heaps,
		                    &view->heap_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_TYPES, &view->types,
		                    &view->type_count);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_STRINGS, &view->strings,
		                    &view->string_bytes);
	if (status == 0)
		status = read_table(source, &view->header, GG_TABLE_FAULTS, &view->faults,
		                    &view->fault_count);
	return status;
}

/* Applies to the copy what threads had published. */
static void apply_published(struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->slot_count; i++) {
		const struct gg_region_redo_slot *slot = &view->slots[i];
		uint64_t operation = slot->state & GG_REDO_MASK;

		if (operation == GG_REDO_NOTHING)
			continue;
		if (slot->live_index >= view->live_count ||
		    slot->site_total >= view->site_total_count ||
		    (operation != GG_REDO_ALLOC && operation != GG_REDO_FREE) ||
		    (operation == GG_REDO_FREE && slot->lifetime >= GG_REGION_LIFETIME_COUNT)) {
			view->damaged_count++;
			continue;
		}
		view->finished_count++;
		if (operation == GG_REDO_ALLOC) {
			view->live[slot->live_index] = slot->sample;
			view->site_totals[slot->site_total].allocated = slot->sums;
		} else {
			view->live[slot->live_index].id = 0;
			view->site_totals[slot->site_total].freed = slot->sums;
			view->site_totals[slot->site_total].lifetimes[slot->lifetime] =
				slot->lifetime_sum;
		}
	}
}

static bool sample_is_valid(const struct gg_region_view *view,
                            const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);

	return sample->address != 0 && sample->stack < view->node_count &&
	       sample->thread < view->thread_count && sample->heap < view->heap_count &&
	       sample->type < view->type_count && gg_draw_is_valid(&draw);
}

/* Keeps live samples that are valid, in their order. */
static void check_live(struct gg_region_view *view)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < view->live_count; i++) {
		const struct gg_region_sample *sample = &view->live[i];

		if (sample->id == 0)
			continue;
		if (!sample_is_valid(view, sample)) {
			view->damaged_count++;
			continue;
		}
		if (kept != i) /* most tables have no holes */
			view->live[kept] = *sample;
		kept++;
	}
	view->live_count = kept;
}

static void check_site_totals(struct gg_region_view *view)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *total = &view->site_totals[i];

		if (total->ready == 0)
			continue;
		if (total->ready == 1 && total->stack < view->node_count &&
		    total->thread < view->thread_count) {
			if (view->exact_totals != NULL)
				view->exact_totals[kept] = view->exact_totals[i];
			if (kept != i)
				view->site_totals[kept] = *total;
			kept++;
		} else
			view->damaged_count++;
	}
	view->site_total_count = kept;
}

/* If the process was killed before it counted the lifetime of its last free, counts it. */
static void finish_lifetimes(struct gg_exact_total *exact, uint64_t freed_count)
{
	uint32_t sum = 0;

	for (int i = 0; i < GG_REGION_LIFETIME_COUNT; i++)
		sum += exact->lifetimes[i];
	if (sum + 1 == (uint32_t)freed_count)
		exact->lifetimes[exact->freed_word & GG_EXACT_FREED_LIFETIME_MASK]++;
}

/* Makes site totals of exact counts: each block is a sample of weight 1. */
static int convert_exact(const struct source *source, struct gg_region_view *view)
{
	size_t count = view->site_total_count;

	if (!gg_region_is_exact(&view->header))
		return 0;
	view->exact_totals = calloc(count + 1, sizeof(*view->exact_totals));
	if (view->exact_totals == NULL)
		return gg_error_memory(source->error, source->place);
	memcpy(view->exact_totals, view->site_totals, count * sizeof(*view->exact_totals));
	for (size_t i = 0; i < count; i++) {
		struct gg_exact_total *exact = &view->exact_totals[i];
		struct gg_region_site_total *total = &view->site_totals[i];
		struct gg_exact_sums sums = gg_exact_total_sums(exact);

		finish_lifetimes(exact, sums.freed_count);
		total->allocated = gg_sums_exact(sums.allocated_count, sums.allocated_bytes);
		total->freed = gg_sums_exact(sums.freed_count, sums.freed_bytes);
		memcpy(total->lifetimes, exact->lifetimes, sizeof(total->lifetimes));
	}
	return 0;
}

/* Afterwards each parent has a smaller id than its child, so every walk to the root ends. */
static void check_nodes(struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->node_count; i++) {
		if (view->nodes[i].parent < i || (i == 0 && view->nodes[i].parent == 0))
			continue;
		view->nodes[i].parent = GG_STACK_EMPTY;
		view->damaged_count++;
	}
}

static bool string_is_valid(const struct gg_region_view *view, uint32_t offset, uint32_t bytes)
{
	return offset <= view->string_bytes && bytes <= view->string_bytes - offset;
}

static void check_names(struct gg_region_view *view, struct gg_region_name *names, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (names[i].ready == 1 && string_is_valid(view, names[i].offset, names[i].bytes))
			continue;
		view->damaged_count += names[i].ready != 0;
		names[i] = (struct gg_region_name){ 0 };
	}
}

static void check_frames(struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->frame_count; i++) {
		struct gg_region_frame *frame = &view->frames[i];

		if (frame->ready == 1 &&
		    string_is_valid(view, frame->function_offset, frame->function_bytes) &&
		    string_is_valid(view, frame->file_offset, frame->file_bytes))
			continue;
		view->damaged_count += frame->ready != 0;
		*frame = (struct gg_region_frame){ 0 };
	}
}

static void check_modules(struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->module_count; i++) {
		struct gg_region_module *module = &view->modules[i];

		if (module->ready == 1 && module->range_count <= GG_REGION_RANGES_MAX &&
		    module->build_id_bytes <= GG_REGION_BUILD_ID_MAX &&
		    string_is_valid(view, module->path_offset, module->path_bytes))
			continue;
		view->damaged_count += module->ready != 0;
		*module = (struct gg_region_module){ 0 };
	}
}

static void check_threads(struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->thread_count; i++) {
		if (view->threads[i].ready <= 1)
			continue;
		view->damaged_count++;
		view->threads[i] = (struct gg_region_thread_record){ 0 };
	}
}

static void check_place(const struct gg_region_view *view, struct gg_region_fault_place *place)
{
	if (place->stack >= view->node_count)
		place->stack = GG_STACK_EMPTY;
}

/* Keeps faults that are valid, in their order. */
static void check_faults(struct gg_region_view *view)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < view->fault_count; i++) {
		struct gg_region_fault fault = view->faults[i];

		if (fault.ready != 1 || fault.kind >= GG_REGION_FAULT_KIND_COUNT) {
			view->damaged_count += fault.ready != 0;
			continue;
		}
		check_place(view, &fault.access);
		check_place(view, &fault.allocation);
		check_place(view, &fault.free);
		view->faults[kept++] = fault;
	}
	view->fault_count = kept;
}

static int open_source(struct source *source)
{
	struct stat file;

	if (fstat(source->fd, &file) < 0)
		return gg_error_set_errno(source->error, errno, source->place, NULL);
	if (!S_ISREG(file.st_mode))
		return damaged(source, "is not a file");
	source->bytes = (uint64_t)file.st_size;
	return 0;
}

int gg_region_header_read(struct gg_region_header *ret_header, int fd, const char *place,
                          struct gg_error *error)
{
	struct source source = { .fd = fd, .place = place, .error = error };
	struct gg_region_header header;
	int status = open_source(&source);

	if (status == 0)
		status = read_header(&source, &header);
	if (status == 0)
		*ret_header = header;
	return status;
}

/* The writer does not count samples and frees, because the site totals have their numbers. */
static void count_samples(struct gg_region_view *view)
{
	uint64_t *counters = view->header.counters, samples = 0, freed = 0;

	for (uint32_t i = 0; i < view->site_total_count; i++) {
		samples += view->site_totals[i].allocated.sample_count;
		freed += view->site_totals[i].freed.sample_count;
	}
	counters[GG_COUNT_SAMPLES] = samples - counters[GG_COUNT_INHERITED];
	counters[GG_COUNT_FREES] = freed - counters[GG_COUNT_MISSED_FREES];
}

static int read_view(struct gg_region_view *ret_view, int fd, const char *place, bool has_names,
                     struct gg_error *error)
{
	struct source source = { .fd = fd, .place = place, .error = error };
	struct gg_region_view view = { 0 };
	int status = open_source(&source);

	if (status < 0)
		return status;
	for (int i = 0; i < VIEW_ATTEMPTS; i++) {
		const struct timespec pause = { .tv_nsec = i * 1000000L };

		/* A process that reads its own region would only move it further by a pause. */
		if (i > 0 && view.header.pid != (uint32_t)getpid())
			nanosleep(&pause, NULL);
		gg_region_view_done(&view);
		status = copy_once(&source, has_names, &view);
		if (status < 0 || !view.torn)
			break;
	}
	if (status < 0) {
		gg_region_view_done(&view);
		return status;
	}
	apply_published(&view);
	status = convert_exact(&source, &view);
	if (status < 0) {
		gg_region_view_done(&view);
		return status;
	}
	if (has_names) {
		check_nodes(&view);
		check_threads(&view);
		check_names(&view, view.heaps, view.heap_count);
		check_names(&view, view.types, view.type_count);
		check_frames(&view);
		check_modules(&view);
		check_faults(&view);
	}
	check_site_totals(&view);
	check_live(&view);
	count_samples(&view);
	*ret_view = view;
	return 0;
}

int gg_region_view_read(struct gg_region_view *ret_view, int fd, const char *place,
                        struct gg_error *error)
{
	return read_view(ret_view, fd, place, true, error);
}

int gg_region_view_read_numbers(struct gg_region_view *ret_view, int fd, const char *place,
                                struct gg_error *error)
{
	return read_view(ret_view, fd, place, false, error);
}

static uint64_t pulse_of(const struct gg_region_header *header,
                         const struct gg_region_redo_slot *slots, uint32_t count)
{
	uint64_t pulse = count + 1;

	if (gg_region_is_exact(header))
		return 0;
	for (uint32_t i = 0; i < count; i++)
		pulse = gg_hash_integer(slots[i].state, pulse * 2 + 1);
	return pulse | 1;
}

uint64_t gg_region_view_pulse(const struct gg_region_view *view)
{
	return view->torn ? 0 : pulse_of(&view->header, view->slots, view->slot_count);
}

uint64_t gg_region_pulse_read(const struct gg_region_header *header, int fd)
{
	struct source source = { .fd = fd };
	struct gg_region_redo_slot *slots = NULL;
	uint32_t count = 0;
	uint64_t pulse;

	if (read_table(&source, header, GG_TABLE_SLOTS, &slots, &count) < 0)
		return 0;
	pulse = pulse_of(header, slots, count);
	free(slots);
	return pulse;
}

int gg_region_view_open(struct gg_region_view *ret_view, const char *path, struct gg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	status = gg_region_view_read(ret_view, fd, path, error);
	close(fd);
	return status;
}
