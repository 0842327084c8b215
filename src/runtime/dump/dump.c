/* SPDX-License-Identifier: Apache-2.0 */
/* dump - gathers the totals and writes them as text; resets move the base. */
#include "runtime/dump/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time_units.h"
#include "region/writer/scan.h"
#include "runtime/dump/dump_file.h"
#include "runtime/dump/dump_totals.h"
#include "runtime/platform/operator_frames.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"

enum {
	DUMP_FRAMES_MAX = 1024, /* the largest value of GEIGER_MAX_FRAMES */
	BUFFER_BYTES = 64 << 10,
	MAPS_BYTES = 4096,
	PAUSE_NS = GG_NS_PER_MS,
	PAUSES_MAX = 10000
};

/* Too large for a program's stack. */
struct dump_job {
	struct gg_dump text;
	struct gg_dump_totals totals;
	struct gg_dump_file file;
	uint64_t pcs[DUMP_FRAMES_MAX];
	char maps[MAPS_BYTES];
	char buffer[BUFFER_BYTES];
};

/* --- dumps and resets exclude each other --- */

/*
 * The high half is the generation of the process, so that a child ignores the dumps of its parent.
 * The low half is the number of dumps in progress, and RESET: then no dump begins, and the reset
 * continues when the number is 0.
 */
static uint64_t running;
#define RESET (UINT64_C(1) << 31)

static uint64_t generation(void)
{
	return (uint64_t)gg_load_relaxed(&gg_process.generation) << 32;
}

static uint64_t low_of(uint64_t word)
{
	return (word & ~(uint64_t)UINT32_MAX) == generation() ? (uint32_t)word : 0;
}

/* Counts one more dump.  Returns 0, -EAGAIN if a reset waits or runs, or -EBUSY. */
static int begin_dump(void)
{
	uint64_t seen = gg_load_relaxed(&running), low;

	do {
		low = low_of(seen);
		if ((low & RESET) != 0)
			return -EAGAIN;
		if (low >= GG_DUMPS_AT_ONCE)
			return -EBUSY;
		/* Acquire: pairs with end_reset(), whose base is then visible. */
	} while (!gg_cas_acq_rel(&running, &seen, generation() | (low + 1)));
	return 0;
}

static bool begin_dump_patiently(void)
{
	for (int i = 0; i < PAUSES_MAX; i++) {
		int status = begin_dump();

		if (status != -EAGAIN)
			return status == 0;
		gg_syscall_sleep(PAUSE_NS);
	}
	return false;
}

static void end_dump(void)
{
	uint64_t seen = gg_load_relaxed(&running), low;

	do {
		low = low_of(seen);
		/*
		 * A handler forked during the dump, and its child, which returned here, counts
		 * anew.
		 */
		if ((low & ~RESET) == 0)
			return;
	} while (!gg_cas_acq_rel(&running, &seen, generation() | (low - 1)));
}

static void end_reset(void)
{
	uint64_t seen = gg_load_relaxed(&running);

	while (!gg_cas_acq_rel(&running, &seen, generation() | (low_of(seen) & ~RESET)))
		;
}

static bool want_reset(void)
{
	uint64_t seen = gg_load_relaxed(&running), low;

	do {
		low = low_of(seen);
		if ((low & RESET) != 0)
			return false; /* another thread resets already */
	} while (!gg_cas_acq_rel(&running, &seen, generation() | low | RESET));
	return true;
}

/* False: the dumps in progress took too long. */
static bool begin_reset(void)
{
	bool is_wanted = false;

	for (int i = 0; i < PAUSES_MAX; i++) {
		is_wanted = is_wanted || want_reset();
		/* Acquire: pairs with end_dump(); no dump reads the base any more. */
		if (is_wanted && low_of(gg_load_acquire(&running)) == RESET)
			return true;
		gg_syscall_sleep(PAUSE_NS);
	}
	if (is_wanted)
		end_reset();
	return false;
}

/* --- the base: what was allocated before the last reset --- */

static struct {
	struct gg_dump_totals totals; /* all allocations before the reset */
	uint64_t from_id;             /* samples with lower ids do not count */
	uint64_t generation; /* of the process that made the base; in a child it does not apply */
} base;

static int make_totals(struct gg_dump_totals *ret_totals)
{
	bool has_base = base.generation == generation();

	return gg_dump_totals_make(ret_totals, &gg_process.region, has_base ? &base.totals : NULL,
	                           has_base ? base.from_id : 0);
}

static int reset(void)
{
	uint64_t from_id = gg_load_relaxed(&gg_process.region.next_id);
	struct gg_dump_totals allocated;
	/* UINT64_MAX as the first id: the base has allocations only, and no live samples. */
	int status = gg_dump_totals_make(&allocated, &gg_process.region, NULL, UINT64_MAX);

	if (status < 0)
		return status;
	/* A child does not free its parent's base, which may have been copied half replaced. */
	if (base.generation == generation())
		gg_dump_totals_done(&base.totals);
	base.totals = allocated;
	base.from_id = from_id;
	base.generation = generation();
	return 0;
}

int gg_agent_dump_reset(void)
{
	int status;

	if (!begin_reset())
		return -EBUSY;
	status = reset();
	end_reset();
	return status;
}

/* --- the text --- */

static double interval_of_head(void)
{
	/*
	 * This scheme counts allocations and not bytes; with 1, readers do not scale the numbers.
	 */
	if (gg_process.options.sampler.scheme == GG_SCHEME_PER_ALLOCATION)
		return 1;
	return (double)gg_load_relaxed(&gg_process.interval_bytes);
}

/* Selects the sums that this form of dump shows.  False: nothing. */
static bool sums_of(const struct gg_dump_totals_entry *entry, enum gg_agent_dump_form form,
                    struct gg_dump_sums *ret_sums)
{
	*ret_sums = entry->sums;
	if (form == GG_AGENT_DUMP_HEAP_V2_LIVE)
		ret_sums->allocated = (struct gg_dump_amount){ 0 };
	return ret_sums->live.count + ret_sums->allocated.count > 0;
}

/*
 * Reads the stack, and skips frames of operator new.  Readers subtract 1 from each address except
 * the first, to get from the return address into the call; here the first one loses it.
 */
static uint32_t walk(struct dump_job *job, uint32_t stack, const uint64_t **ret_pcs)
{
	uint32_t count = gg_region_scan_stack(&gg_process.region, stack, job->pcs, DUMP_FRAMES_MAX);
	uint32_t first = 0;

	*ret_pcs = job->pcs;
	if (count == 0) {
		job->pcs[0] = 1;
		return 1;
	}
	count = count < DUMP_FRAMES_MAX ? count : DUMP_FRAMES_MAX;
	while (first + 1 < count && !gg_pc_is_frame(job->pcs[first]) &&
	       gg_operator_frames_has(job->pcs[first]))
		first++;
	gg_assert(first < count && count <= DUMP_FRAMES_MAX);
	if (!gg_pc_is_frame(job->pcs[first]))
		job->pcs[first] -= 1;
	*ret_pcs = job->pcs + first;
	return count - first;
}

static void write_head(struct dump_job *job, enum gg_agent_dump_form form)
{
	const struct gg_dump_totals *all = &job->totals;
	struct gg_dump_sums sums;
	char name[17];

	sums_of(gg_dump_totals_find(all, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL), form, &sums);
	if (form == GG_AGENT_DUMP_GPERFTOOLS) {
		gg_dump_gperftools(&job->text, &sums);
		return;
	}
	gg_dump_heap_v2(&job->text, interval_of_head(), &sums);
	for (uint32_t i = 0; i < all->count; i++) {
		const struct gg_dump_totals_entry *entry = &all->entries[i];

		if (entry->stack != GG_DUMP_TOTALS_ALL || entry->thread == GG_DUMP_TOTALS_ALL ||
		    !sums_of(entry, form, &sums))
			continue;
		gg_region_scan_thread_name(&gg_process.region, entry->thread, name);
		gg_dump_thread(&job->text, entry->thread, &sums, name);
	}
}

static void write_stack(struct dump_job *job, enum gg_agent_dump_form form,
                        const struct gg_dump_totals_entry *of_stack)
{
	const struct gg_dump_totals_entry *entry = of_stack;
	struct gg_dump_sums sums;
	const uint64_t *pcs;
	uint32_t count;

	if (!sums_of(of_stack, form, &sums))
		return;
	count = walk(job, of_stack->stack, &pcs);
	if (form == GG_AGENT_DUMP_GPERFTOOLS) {
		gg_dump_record(&job->text, &sums, pcs, count);
		return;
	}
	gg_dump_stack(&job->text, pcs, count);
	gg_dump_total(&job->text, &sums);
	while ((entry = gg_dump_totals_next(&job->totals, entry)) != NULL)
		if (sums_of(entry, form, &sums))
			gg_dump_thread(&job->text, entry->thread, &sums, NULL);
}

/*
 * Reads at explicit offsets, because the child of a handler shares the position of the open file.
 */
static void write_maps(struct dump_job *job)
{
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), got;
	uint64_t offset = 0;

	gg_dump_mappings(&job->text);
	while (fd >= 0 &&
	       (got = syscall(SYS_pread64, (int)fd, job->maps, sizeof(job->maps), offset)) > 0) {
		gg_dump_bytes(&job->text, job->maps, (size_t)got);
		offset += (uint64_t)got;
	}
	if (fd >= 0)
		syscall(SYS_close, (int)fd);
}

static int write_text(struct dump_job *job, enum gg_agent_dump_form form, gg_dump_flush *flush,
                      void *context)
{
	job->text = (struct gg_dump){ job->buffer, sizeof(job->buffer), .flush = flush,
		                      .context = context };
	write_head(job, form);
	for (uint32_t i = 0; i < job->totals.count && job->text.status == 0; i++) {
		const struct gg_dump_totals_entry *entry = &job->totals.entries[i];

		if (entry->stack != GG_DUMP_TOTALS_ALL && entry->thread == GG_DUMP_TOTALS_ALL)
			write_stack(job, form, entry);
	}
	if (job->text.status == 0)
		write_maps(job);
	return gg_dump_end(&job->text);
}

static int write_file(struct dump_job *job, const char *path, enum gg_agent_dump_form form)
{
	int status = gg_dump_file_begin(&job->file, path);

	if (status < 0)
		return status;
	status = write_text(job, form, gg_dump_file_write, &job->file);
	return gg_dump_file_end(&job->file, status);
}

/* Writes to `path`, or to flush() if that is NULL. */
static int dump(const char *path, enum gg_agent_dump_form form, gg_dump_flush *flush, void *context)
{
	struct dump_job *job;
	int status;

	if (gg_seccomp_is_entered())
		return -EPERM;
	if (!begin_dump_patiently())
		return -EBUSY;
	job = gg_syscall_map(sizeof(*job));
	status = job == NULL ? -ENOMEM : make_totals(&job->totals);
	if (status == 0 && path == NULL)
		status = write_text(job, form, flush, context);
	else if (status == 0)
		status = write_file(job, path, form);
	if (status == -EAGAIN && path != NULL)
		status = write_file(job, path, form); /* again, with a name from the beginning */
	if (job != NULL) {
		gg_dump_totals_done(&job->totals);
		gg_syscall_unmap(job, sizeof(*job));
	}
	end_dump();
	return status;
}

int gg_agent_dump(const char *path, enum gg_agent_dump_form form)
{
	return dump(path, form, NULL, NULL);
}

int gg_agent_dump_to(enum gg_agent_dump_form form, gg_dump_flush *flush, void *context)
{
	return dump(NULL, form, flush, context);
}

int gg_agent_dump_live(struct gg_agent_leak *ret_leak)
{
	struct gg_dump_totals all;
	int status;

	if (!begin_dump_patiently())
		return -EBUSY;
	status = make_totals(&all);
	if (status == 0) {
		*ret_leak = (struct gg_agent_leak){
			.live = gg_dump_totals_find(&all, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL)
			                ->sums.live
		};
		for (uint32_t i = 0; i < all.count; i++)
			ret_leak->stack_count += all.entries[i].stack != GG_DUMP_TOTALS_ALL &&
			                         all.entries[i].thread == GG_DUMP_TOTALS_ALL &&
			                         all.entries[i].sums.live.count > 0;
		gg_dump_totals_done(&all);
	}
	end_dump();
	return status;
}
