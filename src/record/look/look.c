/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look - reads what the kernel tells about a process, then the memory around its samples
 * (look/look.h).
 */
#include "record/look/look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "record/look/look_threads.h"
#include "record/look/python_pools.h"
#include "record/process/proc_file.h"

/* --- the end of the process --- */

/* A process that ends gives its memory back first: from then on statm has zeros. */
static bool has_memory(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	return gg_proc_file_read(&text, "/proc/%d/statm", (int)pid) &&
	       strtoll(gg_buf_text(&text), NULL, 10) > 0;
}

/* --- mappings --- */

/* Addresses of live samples, ascending. */
struct addresses {
	GG_ARRAY(uint64_t) malloc_list, mmap_list;
};

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int collect_addresses(struct addresses *addresses, const struct gg_look_samples *samples)
{
	for (size_t i = 0; samples != NULL && i < samples->list.count; i++) {
		const struct gg_look_sample *sample = &samples->list.items[i];

		if (!(sample->is_mapping ? gg_array_push(&addresses->mmap_list, sample->address)
		                         : gg_array_push(&addresses->malloc_list, sample->address)))
			return -ENOMEM;
	}
	if (addresses->malloc_list.count > 0)
		qsort(addresses->malloc_list.items, addresses->malloc_list.count, sizeof(uint64_t),
		      compare_addresses);
	if (addresses->mmap_list.count > 0)
		qsort(addresses->mmap_list.items, addresses->mmap_list.count, sizeof(uint64_t),
		      compare_addresses);
	return 0;
}

/* Fills in mappings, threads, and the sums over them. */
static int take_mappings(struct gg_look *look, pid_t pid, const char *text,
                         const struct gg_look_options *options)
{
	struct gg_profile_look *record = &look->record;
	struct gg_look_mappings mappings = { 0 };
	struct addresses addresses = { 0 };
	struct gg_look_threads threads = { 0 };
	struct gg_smaps_hints hints = { .private_bytes = options->private_bytes,
		                        .is_exact = options->is_exact,
		                        .visit = gg_look_mappings_visit,
		                        .context = &mappings };
	int status = collect_addresses(&addresses, options->samples);

	gg_look_threads_read(&threads, pid);
	hints.malloc_addresses = addresses.malloc_list.items;
	hints.malloc_count = addresses.malloc_list.count;
	hints.mmap_addresses = addresses.mmap_list.items;
	hints.mmap_count = addresses.mmap_list.count;
	hints.stack_pointers = threads.stack_pointers.items;
	hints.stack_pointer_count = threads.stack_pointers.count;
	gg_smaps_add_up(&look->sums, text, &hints);
	if (status == 0)
		status = gg_look_mappings_take(&mappings, &look->mappings);
	record->rss_bytes = look->sums.rss_bytes;
	record->pss_bytes = look->sums.pss_bytes;
	record->swap_bytes = 0;
	for (int kind = 0; kind < GG_MAPPING_KIND_COUNT; kind++)
		record->swap_bytes += look->sums.parts[kind].swap_bytes;
	record->thread_count = threads.count;
	gg_look_threads_done(&threads);
	gg_look_mappings_done(&mappings);
	gg_array_done(&addresses.malloc_list);
	gg_array_done(&addresses.mmap_list);
	return status;
}

/* --- the control group --- */

/*
 * Finds out whether the process has ended, and reads memory.stat of its control group.  In version
 * 1 its numbers for the group and all groups below begin with "total_", and the kernel's own memory
 * is in a file of its own.
 */
static void take_cgroup(struct gg_look *look, pid_t pid)
{
	struct gg_profile_look *record = &look->record;
	GG_CLEANUP(gg_buf_done) struct gg_buf groups = { 0 }, text = { 0 };
	bool has_groups = gg_proc_file_read(&groups, "/proc/%d/cgroup", (int)pid);
	const char *line;

	/* The kernel moves a process that has ended to the root of all control groups. */
	look->has_ended = !has_memory(pid);
	if (!has_groups || look->has_ended)
		return;
	if ((line = strstr(gg_buf_text(&groups), ":memory:")) != NULL) {
		int bytes = (int)strcspn(line + 8, "\n");

		if (gg_proc_file_read(&text, "/sys/fs/cgroup/memory%.*s/memory.stat", bytes,
		                      line + 8)) {
			record->cgroup_anonymous_bytes = gg_proc_file_find_number(
				gg_buf_text(&text), "total_rss");
			record->cgroup_file_bytes = gg_proc_file_find_number(gg_buf_text(&text),
			                                                     "total_cache");
		}
		if (gg_proc_file_read(&text, "/sys/fs/cgroup/memory%.*s/memory.kmem.usage_in_bytes",
		                      bytes, line + 8))
			record->cgroup_kernel_bytes = strtoll(gg_buf_text(&text), NULL, 10);
	} else if ((line = strstr(gg_buf_text(&groups), "0::")) != NULL &&
	           gg_proc_file_read(&text, "/sys/fs/cgroup%.*s/memory.stat",
	                             (int)strcspn(line + 3, "\n"), line + 3)) {
		record->cgroup_anonymous_bytes = gg_proc_file_find_number(gg_buf_text(&text),
		                                                          "anon");
		record->cgroup_file_bytes = gg_proc_file_find_number(gg_buf_text(&text), "file");
		record->cgroup_kernel_bytes = gg_proc_file_find_number(gg_buf_text(&text),
		                                                       "kernel");
	}
}

/* --- blocks --- */

static const char *reason_of(int status)
{
	switch (status) {
	case -EACCES:
	case -EPERM:
		return "geiger may not read the memory of the process";
	case -ESRCH:
	case -ENOENT:
		return "the process ended meanwhile";
	case -ENOMEM:
		return "geiger had no memory for it";
	default:
		return "the kernel did not show the process's pages";
	}
}

/* Looks at the blocks of the chosen samples.  A failure becomes the look's reason. */
static void take_blocks(struct gg_look *look, pid_t pid, const struct gg_memory_map *map,
                        const struct gg_look_options *options)
{
	const struct gg_block_looks_options block_options = {
		.map = map,
		.budget_ns = options->budget_ns,
		.heap_walk_budget_ns = options->heap_walk_budget_ns,
		.heap_walk_ns_per_byte = options->heap_walk_ns_per_byte,
		.moments = options->moments,
	};
	const struct gg_look_samples *samples = options->samples;
	struct gg_profile_look *record = &look->record;
	struct gg_error error = { 0 };
	struct gg_block_place *places;
	int status = -ENOMEM;

	record->live_count = (int64_t)samples->list.count;
	places = calloc(samples->chosen_count + 1, sizeof(*places));
	for (size_t i = 0; places != NULL && i < samples->chosen_count; i++) {
		const struct gg_look_sample *sample = &samples->list.items[i];

		places[i] = (struct gg_block_place){ sample->id, sample->address,
			                             sample->size_bytes, sample->usable_bytes,
			                             sample->is_mapping };
	}
	if (places != NULL)
		status = gg_block_looks_take(&look->blocks, pid, places, samples->chosen_count,
		                             &block_options, &error);
	free(places);
	if (status < 0) {
		look->blocks = (struct gg_block_looks){ .reason = reason_of(status) };
		return;
	}
	record->chosen_count = (int64_t)samples->chosen_count;
	record->torn_count = look->blocks.torn_count;
	gg_look_leave_out(look, look->blocks.gone_count);
}

/* --- Python --- */

/* Finds the pools of Python in a process whose page table is open. */
static int find_pools(struct gg_python_pools *ret_pools, const struct gg_memory_map *map, pid_t pid,
                      uint64_t budget_ns)
{
	struct gg_process_memory memory;
	struct gg_residency *residency = calloc(1, sizeof(*residency));
	int status = residency != NULL ? gg_process_memory_open(&memory, pid, NULL) : -ENOMEM;

	if (status == 0) {
		gg_residency_init(residency, &memory.source, (uint64_t)sysconf(_SC_PAGESIZE));
		status = gg_python_pools_find(ret_pools, map, residency,
		                              budget_ns != 0 ? gg_clock_thread_ns() + budget_ns
		                                             : 0);
		gg_process_memory_close(&memory);
	}
	free(residency);
	return status;
}

/* Adds the totals of Python's allocator, if the process is Python.  A failure adds none. */
static int take_python(struct gg_look *look, pid_t pid, const struct gg_memory_map *map,
                       uint64_t budget_ns)
{
	struct gg_python_pools pools = { 0 };
	int status = 0;

	if (map->has_python && find_pools(&pools, map, pid, budget_ns) == 0 && pools.is_known &&
	    pools.resident_bytes > 0) {
		const struct gg_profile_look_total totals[] = {
			{ .name = "python.pools", .bytes = pools.resident_bytes },
			{ .name = "python.pools-free", .bytes = pools.free_bytes },
		};

		for (size_t i = 0; i < GG_COUNT(totals); i++)
			if (!gg_array_push(&look->blocks.totals, totals[i]))
				status = -ENOMEM;
	}
	return status;
}

/* Takes the memory of the blocks, and of Python.  Returns 0 or -ENOMEM. */
static int take_memory(struct gg_look *look, pid_t pid, const char *smaps,
                       const struct gg_look_options *options)
{
	struct gg_memory_map map = { 0 };
	int status = gg_memory_map_parse(&map, smaps);
	uint64_t search_ns;

	if (status == 0 && options->samples != NULL && look->blocks.reason == NULL)
		take_blocks(look, pid, &map, options);
	search_ns = gg_clock_thread_ns();
	if (status == 0)
		status = take_python(look, pid, &map, options->budget_ns);
	look->search_ns = look->blocks.search_ns + gg_clock_thread_ns() - search_ns;
	gg_memory_map_done(&map);
	return status;
}

static int read_mappings(struct gg_buf *text, pid_t pid, struct gg_error *error)
{
	char path[32];

	gg_buf_clear(text);
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	errno = 0;
	if (!gg_proc_file_read(text, "%s", path))
		return gg_error_set_errno(error, errno != 0 ? errno : ESRCH, path, NULL);
	/* If it ended meanwhile, the text may end in the middle of its mappings. */
	if (!has_memory(pid))
		return gg_error_set_errno(error, ESRCH, path, NULL);
	return 0;
}

/* Tells the caller that the mappings were read.  Returns whether to read them again. */
static bool wants_again(const struct gg_look_options *options, uint64_t began_ns, uint64_t ended_ns)
{
	const struct gg_look_moments *moments = options->moments;

	return moments != NULL && moments->mappings_read != NULL &&
	       moments->mappings_read(moments->context, began_ns, ended_ns) &&
	       options->smaps == NULL;
}

int gg_look_take(struct gg_look *ret_look, pid_t pid, const struct gg_look_options *options,
                 struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint64_t start_ns = gg_clock_monotonic_ns();
	struct gg_look look = {
		.record = { .page_bytes = sysconf(_SC_PAGESIZE),
		            .cgroup_anonymous_bytes = -1,
		            .cgroup_file_bytes = -1,
		            .cgroup_kernel_bytes = -1 },
		.blocks.reason = options->reason,
	};
	const char *smaps = options->smaps;
	uint64_t walk_ns, began_ns, ended_ns;
	int status;

	walk_ns = gg_clock_thread_ns();
	do {
		began_ns = gg_clock_monotonic_ns();
		status = options->smaps == NULL ? read_mappings(&text, pid, error) : 0;
		if (status < 0)
			return status;
		ended_ns = gg_clock_monotonic_ns();
		look.read_ns = began_ns + (ended_ns - began_ns) / 2;
		look.walk_ns = gg_clock_thread_ns() - walk_ns;
	} while (wants_again(options, began_ns, ended_ns));
	/* The last reading of the samples decides, which the caller may have repeated. */
	if (look.blocks.reason == NULL && options->samples != NULL &&
	    options->samples->is_too_large)
		look.blocks.reason = "the process has too many live samples";
	if (smaps == NULL)
		smaps = gg_buf_text(&text);
	status = take_mappings(&look, pid, smaps, options);
	if (status == 0)
		status = take_memory(&look, pid, smaps, options);
	if (status < 0) {
		gg_look_done(&look);
		return gg_error_memory(error, "a look");
	}
	take_cgroup(&look, pid);
	look.record.allocator = look.blocks.allocator;
	look.record.reason = look.blocks.reason;
	look.record.span_ns = (int64_t)(gg_clock_monotonic_ns() - start_ns);
	*ret_look = look;
	return 0;
}

/*
 * Samples that are left out count neither as live nor as chosen.  The look did not choose all
 * samples, and the same share of the rest is gone, so the chance of each sample stays as it was.
 */
void gg_look_leave_out(struct gg_look *look, int64_t count)
{
	struct gg_profile_look *record = &look->record;
	double stayed;

	if (count == 0)
		return;
	stayed = 1 - (double)count / (double)record->chosen_count;
	record->live_count = (int64_t)((double)record->live_count * stayed + 0.5);
	record->chosen_count -= count;
}

void gg_look_done(struct gg_look *look)
{
	gg_look_records_done(&look->mappings);
	gg_block_looks_done(&look->blocks);
}
