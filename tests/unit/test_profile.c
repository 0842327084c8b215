/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile - shows that a profile in memory or in a file is read back as it was written. */
#include "profile/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile.h"
#include "test.h"

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

static void write_all(struct gg_profile *profile)
{
	CHECK_MSG(profile_write(profile, &error), "%s: %s", error.place, error.message);
}

static int same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int see_process(const struct gg_profile_process *process, void *seen)
{
	CHECK_EQ_U64(process->id, 1);
	CHECK_EQ_U64(process->parent, 0);
	CHECK_EQ_U64(process->pid, 100);
	CHECK_EQ_I64(process->start_ns, 0);
	CHECK_EQ_I64(process->end_ns, 5000);
	CHECK(same(process->exe, "/usr/bin/sort") && same(process->ending, "exited 0"));
	CHECK_EQ_DOUBLE(process->interval_bytes, 524288);
	CHECK_EQ_U64(process->scheme, GG_SCHEME_POISSON);
	++*(int *)seen;
	return 0;
}

static int see_thread(const struct gg_profile_thread *thread, void *seen)
{
	CHECK_EQ_U64(thread->id, 1);
	CHECK_EQ_U64(thread->process, 1);
	CHECK_EQ_U64(thread->tid, 100);
	CHECK(thread->end_ns == GG_TIME_NONE && same(thread->name, "m"));
	++*(int *)seen;
	return 0;
}

static int see_module(const struct gg_profile_module *module, void *seen)
{
	CHECK_EQ_U64(module->id, 1);
	CHECK_EQ_U64(module->build_id_bytes, 3);
	CHECK_EQ_I64(memcmp(module->build_id, "\1\0\377", 3), 0);
	CHECK(same(module->status, "ok") && same(module->path, "/usr/bin/sort"));
	++*(int *)seen;
	return 0;
}

static int see_mapping(const struct gg_profile_mapping *mapping, void *seen)
{
	CHECK_EQ_U64(mapping->process, 1);
	CHECK_EQ_U64(mapping->module, 1);
	CHECK_EQ_U64(mapping->start, 0xffffffffff600000);
	CHECK_EQ_U64(mapping->end, 0xffffffffff601000);
	CHECK(mapping->bias == UINT64_MAX - 4095 && mapping->unload_ns == GG_TIME_NONE);
	++*(int *)seen;
	return 0;
}

static int see_frame(const struct gg_profile_frame *frame, void *seen)
{
	if (frame->id == 1)
		CHECK(frame->module == 1 && frame->address == 0x1234);
	else
		CHECK(frame->id == 2 && frame->module == 0 && frame->address == UINT64_MAX);
	++*(int *)seen;
	return 0;
}

static int see_line(const struct gg_profile_line *line, void *seen)
{
	CHECK(line->frame == 1 && line->depth == (uint32_t) * (int *)seen);
	if (line->depth == 0)
		CHECK(same(line->function, "in") && same(line->file, "a.c") && line->line == 3 &&
		      line->inlined && line->full_name == NULL);
	else
		CHECK(same(line->function, "out") && same(line->full_name, "out(int)") &&
		      same(line->linkage_name, "_Z3outi") && line->file == NULL && !line->inlined &&
		      line->line == 0);
	++*(int *)seen;
	return 0;
}

static int see_stack(const struct gg_profile_stack *stack, void *seen)
{
	CHECK(stack->id == (uint32_t) * (int *)seen + 1 && stack->parent == stack->id - 1);
	CHECK_EQ_U64(stack->frame, stack->id);
	++*(int *)seen;
	return 0;
}

static int see_name(uint32_t id, const char *name, void *seen)
{
	CHECK(id == 1 && (same(name, "arena") || same(name, "Node")));
	++*(int *)seen;
	return 0;
}

static int see_sample(const struct gg_profile_sample *got, void *seen)
{
	struct gg_profile_sample want = profile_sample;

	want.id = (uint64_t) * (int *)seen + 1;
	if (want.id == 2) {
		want.free_ns = 200000000000;
		want.free_thread = want.free_stack = 1;
		want.flags |= GG_PROFILE_SAMPLE_LATE_FREE;
	}
	CHECK_EQ_U64(got->id, want.id);
	CHECK_EQ_I64(got->alloc_ns, want.alloc_ns);
	CHECK_EQ_I64(got->free_ns, want.free_ns);
	CHECK_EQ_U64(got->process, 1);
	CHECK_EQ_U64(got->thread, 1);
	CHECK_EQ_U64(got->stack, 2);
	CHECK_EQ_U64(got->heap, 1);
	CHECK_EQ_U64(got->type, 1);
	CHECK_EQ_U64(got->size_bytes, 4096);
	CHECK_EQ_U64(got->usable_bytes, 4104);
	CHECK_EQ_U64(got->address, want.address);
	CHECK_EQ_DOUBLE(got->draw.sampling_interval, 524288);
	CHECK_EQ_U64(got->draw.offset_bytes, 17);
	CHECK_EQ_U64(got->draw.sample_point_count, 1);
	CHECK_EQ_U64(got->draw.scheme, GG_SCHEME_POISSON);
	CHECK_EQ_U64(got->free_thread, want.free_thread);
	CHECK_EQ_U64(got->free_stack, want.free_stack);
	CHECK_EQ_U64(got->flags, want.flags);
	CHECK_EQ_U64(got->origin, 1);
	++*(int *)seen;
	return 0;
}

static int see_aggregate(const struct gg_profile_aggregate *aggregate, void *seen)
{
	struct gg_sums sums = profile_sums(3);

	CHECK_EQ_U64(aggregate->process, 1);
	CHECK_EQ_U64(aggregate->thread, 1);
	CHECK_EQ_U64(aggregate->stack, 2);
	CHECK_EQ_I64(aggregate->from_ns, 5);
	CHECK_EQ_I64(aggregate->to_ns, 50);
	CHECK_EQ_U64(aggregate->size_class, 12);
	CHECK(aggregate->interval_bytes == 524288 && aggregate->lost);
	CHECK_EQ_I64(memcmp(&aggregate->sums, &sums, sizeof(sums)), 0);
	CHECK_EQ_DOUBLE(aggregate->count_skew, 1e6);
	CHECK_EQ_DOUBLE(aggregate->bytes_skew, 1e18);
	CHECK_EQ_DOUBLE(aggregate->lifetime_ns_sum, 77);
	++*(int *)seen;
	return 0;
}

static int see_total(const struct gg_profile_total *total, void *seen)
{
	struct gg_sums freed = profile_sums(4), live = total->allocated;
	double bytes = gg_weight_of(&profile_sample.draw, 4096).bytes;

	CHECK_EQ_U64(total->process, 1);
	CHECK_EQ_U64(total->thread, 1);
	CHECK_EQ_U64(total->stack, 2);
	gg_sums_subtract(&live, &freed);
	CHECK_EQ_U64(live.sample_count, 1);
	CHECK_EQ_U64(live.size_bytes, 4096);
	CHECK(fabs(gg_fixed_value(live.bytes) - bytes) < 1e-5);
	CHECK_EQ_I64(memcmp(&total->freed, &freed, sizeof(freed)), 0);
	for (uint32_t i = 0; i < 32; i++)
		CHECK_EQ_U64(total->lifetimes[i], i == 3 ? 4 : 0);
	++*(int *)seen;
	return 0;
}

static int see_memory(const struct gg_profile_memory *memory, void *seen)
{
	CHECK_EQ_U64(memory->process, 1);
	CHECK_EQ_I64(memory->time_ns, 1000000000);
	CHECK_EQ_I64(memory->rss_bytes, 1);
	CHECK_EQ_I64(memory->pss_bytes, 2);
	CHECK_EQ_I64(memory->anonymous_bytes, 3);
	CHECK_EQ_I64(memory->file_bytes, 4);
	CHECK_EQ_I64(memory->shared_bytes, 5);
	CHECK_EQ_I64(memory->swap_bytes, 6);
	CHECK_EQ_I64(memory->heap_bytes, -1);
	CHECK_EQ_I64(memory->stack_bytes, 8);
	CHECK_EQ_I64(memory->cgroup_bytes, 9);
	CHECK_EQ_DOUBLE(memory->live_bytes, 10.5);
	CHECK_EQ_I64(memory->span_ns, 11);
	CHECK_EQ_I64(memory->max_rss_bytes, 12);
	CHECK_EQ_I64(memory->geiger_bytes, 13);
	CHECK_EQ_I64(memory->geiger_file_bytes, 14);
	CHECK_EQ_I64(memory->pss_file_bytes, 15);
	CHECK_EQ_I64(memory->pss_stack_bytes, -1);
	CHECK_EQ_I64(memory->pss_geiger_bytes, 17);
	++*(int *)seen;
	return 0;
}

static int see_attach(const struct gg_profile_attach *attach, void *seen)
{
	CHECK(attach->process == 1 && attach->is_inherited && attach->time_ns == -5);
	CHECK_EQ_I64(attach->age_ns, 6);
	CHECK_EQ_I64(attach->older_bytes, 7);
	CHECK(same(attach->older_source, "glibc") && attach->unseen_slot_count == -1);
	++*(int *)seen;
	return 0;
}

static int see_event(const struct gg_profile_event *event, void *seen)
{
	CHECK_EQ_I64(event->time_ns, 99);
	CHECK_EQ_U64(event->process, 1);
	CHECK(same(event->kind, "drop") && same(event->detail, "3 events"));
	++*(int *)seen;
	return 0;
}

static int see_counter(uint32_t process, const char *name, uint64_t value, void *seen)
{
	CHECK(process == 1 && same(name, "drops") && value == 3);
	++*(int *)seen;
	return 0;
}

static int see_note(const char *text, void *seen)
{
	CHECK(same(text, "look here"));
	++*(int *)seen;
	return 0;
}

#define SEE(kind, count, ...)                                                                  \
	do {                                                                                   \
		int seen = 0;                                                                  \
		OK(gg_profile_each_##kind(profile, ##__VA_ARGS__, see_##kind, &seen, &error)); \
		CHECK_MSG(seen == (count), "%d of %s", seen, #kind);                           \
	} while (0)

static void print_problem(const char *problem, void *context)
{
	(void)context;
	printf("%s\n", problem);
}

static void read_all(struct gg_profile *profile)
{
	struct gg_profile_session got;

	OK(gg_profile_session(profile, &got, &error));
	CHECK(same(got.command, profile_session.command) && same(got.host, "here"));
	CHECK(same(got.kernel, "Linux 6") && same(got.machine, "x86_64"));
	CHECK(same(got.geiger, "0.1.0") && got.start_wall_ns == profile_session.start_wall_ns);
	CHECK_EQ_I64(got.end_ns, GG_TIME_NONE);
	CHECK_EQ_DOUBLE(got.interval_bytes, 524288);
	CHECK(got.scheme == GG_SCHEME_POISSON && got.exit_status == -1 && got.has_history);
	SEE(process, 1);
	SEE(thread, 1);
	SEE(module, 1);
	SEE(mapping, 1);
	SEE(frame, 2);
	SEE(line, 2);
	SEE(stack, 2);
	SEE(name, 1, GG_NAME_HEAP);
	SEE(name, 1, GG_NAME_TYPE);
	SEE(sample, 2);
	SEE(aggregate, 1);
	SEE(total, 1);
	SEE(memory, 1);
	SEE(attach, 1);
	SEE(event, 1);
	SEE(counter, 1);
	SEE(note, 1);
	CHECK_EQ_U64(gg_profile_dangling_count(profile), 0);
	CHECK_EQ_I64(gg_profile_check(profile, print_problem, NULL, &error), 0);
}

TEST(what_is_written_in_memory_is_read_back)
{
	struct gg_profile *profile;

	if (!OK(gg_profile_create(&profile, NULL, &error)))
		return;
	write_all(profile);
	read_all(profile);
	OK(gg_profile_commit(profile, &error));
	OK(gg_profile_finish(profile, &error));
	read_all(profile);
	gg_profile_close(profile);
}

TEST(what_is_written_to_a_file_is_read_back)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;

	if (!OK(gg_profile_create(&profile, place.path, &error)))
		return;
	OK(gg_profile_commit(profile, &error));
	write_all(profile);
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	if (OK(gg_profile_open(&profile, place.path, &error)))
		read_all(profile);
	gg_profile_close(profile);
	CHECK(profile_place_remove(&place));
}

TEST(a_thread_may_free_what_another_allocated)
{
	struct gg_profile_thread thread = { .process = 1, .tid = 2, .end_ns = GG_TIME_NONE };
	struct gg_profile_total allocates = { .process = 1, .thread = 1, .stack = 2 };
	struct gg_profile_total frees = { .process = 1, .stack = 2 };
	struct gg_profile *profile;
	struct gg_sums live = gg_sums_of(&profile_sample.draw, profile_sample.size_bytes);

	if (!OK(gg_profile_create(&profile, NULL, &error)))
		return;
	write_all(profile);
	OK(gg_profile_add_thread(profile, &thread, &frees.thread, &error));
	allocates.allocated = frees.freed = profile_sums(4);
	gg_sums_add(&allocates.allocated, &live);
	OK(gg_profile_put_total(profile, &allocates, &error));
	OK(gg_profile_put_total(profile, &frees, &error));
	CHECK_EQ_I64(gg_profile_check(profile, print_problem, NULL, &error), 0);
	gg_profile_close(profile);
}

TEST(a_file_that_is_no_profile_is_not_replaced)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;
	FILE *file = fopen(place.path, "w");

	fputs("dear diary", file);
	fclose(file);
	CHECK_EQ_I64(gg_profile_create(&profile, place.path, &error), -EEXIST);
	CHECK_EQ_I64(gg_profile_open(&profile, place.path, &error), -EBADMSG);
	CHECK(profile_place_remove(&place));
}
