/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_process_set - the life of a region in a directory that the test fills itself.
 *
 * Children make small regions as the agent would, and the test kills them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/look/target_look.h"
#include "record/process/idle_children.h"
#include "record/process/new_regions.h"
#include "record/process/proc_file.h"
#include "record/process/process_set.h"
#include "record/regions/noted_forks.h"
#include "record/regions/process_alive.h"
#include "region.h"
#include "scratch.h"
#include "test.h"

struct scene {
	struct gg_process_set set;
	struct gg_profile *profile;
	struct gg_profile_writer writer;
	struct gg_error error;
	pid_t child;
	/* The process, as read_profile() finds it in the profile. */
	int process_count;
	int64_t start_ns, end_ns, range_ns;
	char ending[64];
};

static void scene_setup(struct scene *scene)
{
	struct gg_process_set *set = &scene->set;

	set->directory.fd = set->pidfds_fd = set->succession.watch_fd = -1;
	snprintf(set->directory.path, sizeof(set->directory.path), "%s", scratch_folder());
	set->directory.fd = open(set->directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(set->directory.fd >= 0);
	REQUIRE(gg_profile_create(&scene->profile, NULL, &scene->error) == 0);
	REQUIRE(gg_profile_writer_init(&scene->writer, scene->profile, gg_clock_monotonic_ns(),
	                               &scene->error) == 0);
	set->writer = &scene->writer;
	gg_process_set_begin(set);
}

static void scene_teardown(struct scene *scene)
{
	if (scene->child > 0) {
		kill(scene->child, SIGKILL);
		waitpid(scene->child, NULL, 0);
	}
	if (scene->set.writer != NULL) {
		gg_idle_children_done(&scene->set);
		gg_process_set_done(&scene->set);
	}
	if (scene->set.directory.fd >= 0)
		close(scene->set.directory.fd);
	if (scene->profile != NULL)
		gg_profile_writer_done(&scene->writer);
	gg_profile_close(scene->profile);
}

FIXTURE(scene)

/*
 * Makes a region that claims to be of `pid`, with one sample.  fork_ns as in its header.  Returns
 * false if that fails.
 */
static bool make_forked_region(const char *directory, const char *name, pid_t pid, uint64_t fork_ns,
                               uint64_t alloc_ns)
{
	struct gg_region_options options;
	struct gg_region_thread thread;
	struct gg_region_file file;
	struct gg_region region;
	struct gg_allocation sample = region_sample(0x10000, 1000, 0);

	region_small_options(&options);
	options.pid = (uint32_t)pid;
	options.fork_ns = fork_ns;
	if (gg_region_file_create(&file, directory, name, gg_region_options_file_bytes(&options)) <
	            0 ||
	    gg_region_init(&region, &file, &options) < 0)
		return false;
	gg_region_thread_begin(&region, &thread, (uint32_t)pid, "main", 0);
	sample.time_ns = alloc_ns;
	return gg_region_record_alloc(&region, &thread, &sample) != 0;
}

static bool make_region(const char *directory, const char *name, pid_t pid)
{
	return make_forked_region(directory, name, pid, 0, gg_clock_monotonic_ns());
}

static const char *name_of(pid_t pid)
{
	static char name[64];

	snprintf(name, sizeof(name), "geiger-%d-7.region", (int)pid);
	return name;
}

/* Forks a child that makes a region, of its own pid plus `distance`, and then waits. */
static void start_child(struct scene *scene, int distance)
{
	int ready[2];
	char byte;

	REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
	scene->child = fork();
	REQUIRE(scene->child >= 0);
	if (scene->child == 0) {
		bool is_made = make_region(scene->set.directory.path, name_of(getpid()),
		                           getpid() + distance);

		if (!is_made || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
}

static void kill_child(struct scene *scene)
{
	int status;

	REQUIRE(kill(scene->child, SIGKILL) == 0);
	REQUIRE(waitpid(scene->child, &status, 0) == scene->child);
	gg_exit_statuses_add(&scene->set.exit_statuses, scene->child, status, -1);
}

static bool has_file(const struct scene *scene)
{
	return faccessat(scene->set.directory.fd, name_of(scene->child), F_OK, 0) == 0;
}

static int note_process(const struct gg_profile_process *process, void *context)
{
	struct scene *scene = context;

	scene->process_count++;
	scene->start_ns = process->start_ns;
	scene->end_ns = process->end_ns;
	scene->range_ns = process->end_range_ns;
	snprintf(scene->ending, sizeof(scene->ending), "%s",
	         process->ending != NULL ? process->ending : "");
	return 0;
}

static void read_profile(struct scene *scene)
{
	REQUIRE(gg_profile_writer_commit(&scene->writer) == 0);
	gg_process_set_committed(&scene->set);
	REQUIRE(gg_profile_each_process(scene->profile, note_process, scene, &scene->error) == 0);
}

TEST_WITH(scene, a_region_becomes_a_member_once_and_goes_after_the_commit)
{
	start_child(scene, 0);
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	CHECK_EQ_U64(scene->set.count, 1);
	CHECK(gg_process_set_find(&scene->set, (uint32_t)scene->child) != NULL);
	CHECK(gg_process_set_has(&scene->set, name_of(scene->child)));
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	CHECK_EQ_U64(scene->set.count, 1);
	CHECK(!gg_process_set_finish_ended(&scene->set, true));
	CHECK_EQ_U64(scene->set.count, 1);
	kill_child(scene);
	gg_process_set_finish_ended(&scene->set, true);
	CHECK_EQ_U64(scene->set.count, 0);
	CHECK(has_file(scene) && gg_process_set_has(&scene->set, name_of(scene->child)));
	read_profile(scene);
	CHECK(!has_file(scene) && !gg_process_set_has(&scene->set, name_of(scene->child)));
	CHECK_EQ_U64(scene->writer.counts.sample_count, 1);
	CHECK_EQ_I64(scene->process_count, 1);
	CHECK_EQ_STR(scene->ending, "killed by signal 9");
	scene->child = 0;
}

TEST_WITH(scene, the_end_of_a_killed_process_is_between_its_last_sign_of_life_and_its_notice)
{
	int64_t alive_ns, killed_ns;

	start_child(scene, 0);
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	gg_process_set_listen(&scene->set);
	alive_ns = gg_profile_writer_time(&scene->writer, gg_clock_monotonic_ns());
	gg_process_set_listen(&scene->set); /* it lives until here at least */
	kill_child(scene);
	killed_ns = gg_profile_writer_time(&scene->writer, gg_clock_monotonic_ns());
	gg_process_set_finish_ended(&scene->set, true);
	read_profile(scene);
	CHECK(scene->end_ns >= killed_ns && scene->range_ns > 0);
	CHECK(scene->end_ns - scene->range_ns >= alive_ns);
	CHECK(scene->end_ns - scene->range_ns <= killed_ns);
	scene->child = 0;
}

TEST_WITH(scene, a_region_whose_header_has_another_pid_is_removed)
{
	start_child(scene, 1);
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	CHECK_EQ_U64(scene->set.count, 0);
	CHECK(!has_file(scene));
}

TEST_WITH(scene, a_file_that_is_no_region_waits_while_its_process_lives)
{
	char path[512];
	int fd;

	start_child(scene, 0);
	snprintf(path, sizeof(path), "%s/%s", scene->set.directory.path, name_of(scene->child));
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	REQUIRE(fd >= 0);
	close(fd);
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	CHECK(scene->set.count == 0 && scene->set.has_embryo && has_file(scene));
	kill_child(scene);
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	CHECK(!scene->set.has_embryo && !has_file(scene));
	scene->child = 0;
}

/* Ends so many samples of the set's only member as a parent does that frees what it holds. */
static void end_samples(struct scene *scene, uint64_t first, uint64_t count)
{
	struct gg_target *target = scene->set.first->target;

	for (uint64_t number = first; number < first + count; number++) {
		REQUIRE(gg_live_set_add(&target->live_set, number, number, 1) == 0);
		gg_live_set_end(&target->live_set, gg_live_set_find(&target->live_set, number),
		                scene->set.targets.round_count);
	}
}

TEST_WITH(scene, while_a_region_is_incomplete_rounds_count_only_if_too_many_ends_are_remembered)
{
	enum { FIRST = 1000, ENDED_MAX = GG_LIVE_SET_ENDED_MAX };
	struct gg_process_set *set = &scene->set;
	const struct gg_live_set *live_set;

	start_child(scene, 0);
	REQUIRE(gg_new_regions_scan(set) == 0);
	REQUIRE(set->count == 1 && !set->has_embryo);
	live_set = &set->first->target->live_set;
	set->has_embryo = true;
	end_samples(scene, FIRST, ENDED_MAX);
	for (int i = 0; i < 5; i++)
		gg_process_set_count_round(set, i == 0);
	end_samples(scene, FIRST + ENDED_MAX, 100);
	CHECK(gg_live_set_find(live_set, FIRST) != NULL);
	end_samples(scene, FIRST + ENDED_MAX + 100, GG_PROCESS_SET_ENDED_MAX);
	CHECK(gg_live_set_find(live_set, FIRST) != NULL);
	for (int i = 0; i < 5; i++)
		gg_process_set_count_round(set, true);
	CHECK(!set->targets.forgot_early);
	for (int i = 0; i < GG_LIVE_SET_ROUNDS; i++)
		gg_process_set_count_round(set, false);
	CHECK(set->targets.forgot_early);
	end_samples(scene, 1, 1);
	CHECK(gg_live_set_find(live_set, FIRST) == NULL);
	CHECK_EQ_U64(live_set->ended_count, ENDED_MAX);
	kill_child(scene);
	gg_process_set_finish_ended(set, true);
	read_profile(scene); /* removes the file */
	scene->child = 0;
}

TEST_WITH(scene, a_complete_region_lets_rounds_count)
{
	struct gg_process_set *set = &scene->set;

	gg_process_set_count_round(set, false);
	gg_process_set_count_round(set, true);
	CHECK_EQ_U64(set->targets.round_count, 2);
	CHECK(!set->targets.forgot_early);
}

/* --- idle children --- */

struct held {
	uint32_t process;
	int count, inherited_count;
};

static int note_held(const struct gg_profile_sample *sample, void *context)
{
	struct held *held = context;

	held->count += sample->process == held->process;
	held->inherited_count += sample->process == held->process && sample->origin != 0;
	return 0;
}

/* The samples of a process in the profile. */
static struct held held_by(struct scene *scene, uint32_t process)
{
	struct held held = { .process = process };

	REQUIRE(gg_profile_writer_flush(&scene->writer) == 0);
	REQUIRE(gg_profile_each_sample(scene->profile, note_held, &held, &scene->error) == 0);
	return held;
}

/* Notes a fork as the child's agent would. */
static void note_fork(struct scene *scene, pid_t child, uint64_t fork_ns)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	const struct gg_region_header *header = &scene->set.first->target->reader.header;
	const struct gg_session_fork fork = { .pid = (uint32_t)child,
		                              .ancestor_pid = header->pid,
		                              .ancestor_start_ns = header->start_monotonic_ns,
		                              .fork_ns = fork_ns,
		                              .noted_ns = now_ns,
		                              .held_fork_ns = fork_ns,
		                              .held_noted_ns = now_ns,
		                              .mark = GG_SESSION_FORK_MARK };

	scene->set.directory.forks_fd = openat(scene->set.directory.fd, GG_SESSION_FORKS,
	                                       O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(write(scene->set.directory.forks_fd, &fork, sizeof(fork)) == sizeof(fork));
}

static pid_t fork_idle(void)
{
	pid_t child = fork();

	REQUIRE(child >= 0);
	while (child == 0)
		pause();
	return child;
}

static void end_idle(struct scene *scene, pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(scene->set.directory.forks_fd);
	unlinkat(scene->set.directory.fd, GG_SESSION_FORKS, 0);
	unlinkat(scene->set.directory.fd, name_of(getpid()), 0);
	unlinkat(scene->set.directory.fd, name_of(child), 0);
}

TEST_WITH(scene, a_child_that_is_idle_for_long_is_in_the_profile_until_it_wakes_up)
{
	const uint64_t now_ns = gg_clock_monotonic_ns(), minute_ns = UINT64_C(60000000000);
	const uint64_t fork_ns = now_ns - 11 * minute_ns;
	struct gg_process_set *set = &scene->set;
	pid_t child;

	REQUIRE(make_forked_region(set->directory.path, name_of(getpid()), getpid(), 0,
	                           fork_ns - minute_ns));
	REQUIRE(gg_new_regions_scan(set) == 0 && set->count == 1);
	gg_process_set_drain(set);
	CHECK_EQ_I64(held_by(scene, 1).count, 1);
	child = fork_idle();
	note_fork(scene, child, fork_ns);
	gg_idle_children_read(set);
	gg_idle_children_watch(set);
	CHECK_EQ_I64(held_by(scene, 2).inherited_count, 1);
	REQUIRE(make_forked_region(set->directory.path, name_of(child), child, fork_ns, now_ns));
	REQUIRE(gg_new_regions_scan(set) == 0 && set->count == 2);
	CHECK_EQ_U64(set->first->target->id, 2);
	CHECK_EQ_I64(held_by(scene, 2).count, 0);
	gg_process_set_drain(set);
	CHECK_EQ_I64(held_by(scene, 2).count, 1);
	CHECK_EQ_I64(held_by(scene, 2).inherited_count, 0);
	gg_idle_children_finish(set);
	CHECK_EQ_I64(held_by(scene, 2).count, 1);
	CHECK_EQ_U64(scene->writer.counts.process_count, 2);
	end_idle(scene, child);
}

/* Forks of children that ended at once: there are no processes with such pids. */
static void note_ended_forks(struct scene *scene, uint32_t count)
{
	struct gg_session_fork fork;

	REQUIRE(pread(scene->set.directory.forks_fd, &fork, sizeof(fork), 0) == sizeof(fork));
	for (uint32_t i = 0; i < count; i++) {
		fork.pid = INT32_MAX - i;
		REQUIRE(write(scene->set.directory.forks_fd, &fork, sizeof(fork)) == sizeof(fork));
	}
}

/* Salvages the directory, and returns the children that count for its only process. */
static uint64_t salvaged_children(struct scene *scene, uint64_t *ret_known)
{
	struct gg_lineage *lineage = &scene->set.targets.lineage;
	struct gg_noted_fork_counts counts = { 0 };
	uint64_t before = lineage->processes.items[0].unseen_child_count;

	REQUIRE(gg_noted_forks_write(&scene->writer, lineage, scene->set.directory.fd, &counts) ==
	        0);
	*ret_known = counts.child_count;
	return lineage->processes.items[0].unseen_child_count - before;
}

TEST_WITH(scene, after_thousands_of_forks_a_salvage_knows_those_that_are_idle)
{
	const uint64_t now_ns = gg_clock_monotonic_ns(), second_ns = UINT64_C(1000000000);
	struct gg_process_set *set = &scene->set;
	pid_t child;
	uint64_t known;
	int fd;

	REQUIRE(make_forked_region(set->directory.path, name_of(getpid()), getpid(), 0,
	                           now_ns - 2 * second_ns));
	REQUIRE(gg_new_regions_scan(set) == 0 && set->count == 1);
	child = fork_idle();
	note_fork(scene, child, now_ns);
	fd = set->directory.forks_fd;
	note_ended_forks(scene, 3000);
	CHECK_EQ_U64(salvaged_children(scene, &known), 1);
	gg_idle_children_read(set);
	CHECK_EQ_U64(salvaged_children(scene, &known), 1);
	CHECK_EQ_U64(known, 1);
	CHECK(lseek(fd, 0, SEEK_HOLE) < lseek(fd, 0, SEEK_END));
	note_ended_forks(scene, 3000); /* the head has no pid, and nobody forgets it */
	gg_idle_children_read(set);
	CHECK_EQ_U64(salvaged_children(scene, &known), 1);
	/* A recorder that left no head: the forks that it gave back may be of idle children. */
	REQUIRE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
	                  lseek(fd, 0, SEEK_END)) == 0);
	CHECK_EQ_U64(salvaged_children(scene, &known), 1);
	CHECK_EQ_U64(known, 0);
	end_idle(scene, child);
}

TEST(a_start_includes_the_time_for_which_the_machine_was_suspended)
{
	const uint64_t second_ns = UINT64_C(1000000000);
	const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	const struct gg_time_bounds start = { 100 * second_ns, 101 * second_ns };
	uint64_t least, most;

	/* A process that started 60 s after the boot was there at 50 s without the suspend. */
	CHECK_EQ_U64(gg_process_alive_suspended_ns(60 * ticks, 50 * second_ns), 10 * second_ns);
	CHECK_EQ_U64(gg_process_alive_suspended_ns(50 * ticks, 60 * second_ns), 0);
	gg_process_alive_ticks_between(
		start, (struct gg_time_bounds){ 10 * second_ns, 70 * second_ns }, &least, &most);
	CHECK_EQ_U64(least, 110 * ticks - 1);
	CHECK_EQ_U64(most, 171 * ticks + 1);
}

/* Its agent counts it in the region of its parent, and frees blocks without a word. */
TEST_WITH(scene, a_child_that_could_not_make_its_region_held_nothing_for_certain)
{
	const uint64_t now_ns = gg_clock_monotonic_ns(), second_ns = UINT64_C(1000000000);
	struct gg_process_set *set = &scene->set;
	pid_t child;
	uint64_t one = 1;

	REQUIRE(make_forked_region(set->directory.path, name_of(getpid()), getpid(), 0,
	                           now_ns - 2 * second_ns));
	REQUIRE(gg_new_regions_scan(set) == 0 && set->count == 1);
	gg_process_set_drain(set);
	child = fork_idle();
	note_fork(scene, child, now_ns - second_ns);
	gg_idle_children_read(set);
	REQUIRE(pwrite(set->first->target->reader.fd, &one, sizeof(one),
	               offsetof(struct gg_region_header, counters[GG_COUNT_LOST_CHILDREN])) ==
	        sizeof(one));
	set->first->target->last_free_ns = now_ns; /* its parent has freed since */
	gg_idle_children_finish(set);
	CHECK_EQ_U64(scene->writer.counts.process_count, 1);
	CHECK_EQ_U64(scene->writer.counts.unnoted_child_count, 1);
	end_idle(scene, child);
}

TEST_WITH(scene, after_the_recording_a_new_region_is_switched_off_and_removed)
{
	start_child(scene, 0);
	scene->set.is_over = true;
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	CHECK_EQ_U64(scene->set.count, 0);
	CHECK_EQ_U64(scene->set.left_out_count, 1);
	CHECK(!has_file(scene));
}

/* --- looks --- */

struct looks {
	int count;
	char reason[64]; /* of the last one */
};

static int note_look(const struct gg_profile_look *look, void *context)
{
	struct looks *looks = context;

	looks->count++;
	snprintf(looks->reason, sizeof(looks->reason), "%s",
	         look->reason != NULL ? look->reason : "");
	return 0;
}

TEST_WITH(scene, a_look_at_a_process_that_ends_meanwhile_replaces_none_of_as_much_memory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf smaps = { 0 };
	struct gg_target_look_options options = { 0 };
	struct gg_target_look_result result;
	struct gg_target *target;
	struct looks before = { 0 }, after = { 0 };
	siginfo_t info;

	start_child(scene, 0);
	REQUIRE(gg_new_regions_scan(&scene->set) == 0);
	target = scene->set.first->target;
	REQUIRE(gg_proc_file_read(&smaps, "/proc/%d/smaps", (int)scene->child));
	/* All looks have these mappings: the child may touch more pages at any time. */
	options.smaps = gg_buf_text(&smaps);
	REQUIRE(gg_target_look_take(target, &options, &result, &scene->error) == 0);
	REQUIRE(kill(scene->child, SIGKILL) == 0);
	REQUIRE(waitid(P_PID, (id_t)scene->child, &info, WEXITED | WNOWAIT) == 0);

	/* It ended after its mappings were read. */
	options.ended_bytes = result.sums.rss_bytes;
	CHECK_EQ_I64(gg_target_look_take(target, &options, &result, &scene->error), -ESRCH);
	REQUIRE(gg_profile_each_look(scene->profile, note_look, &before, &scene->error) == 0);
	CHECK_EQ_I64(before.count, 1);
	CHECK(strstr(before.reason, "ended") == NULL);
	options.ended_bytes = result.sums.rss_bytes - 1;
	CHECK_EQ_I64(gg_target_look_take(target, &options, &result, &scene->error), 0);
	REQUIRE(gg_profile_each_look(scene->profile, note_look, &after, &scene->error) == 0);
	CHECK_EQ_STR(after.reason, "the process ended meanwhile");

	/* Without mappings there is no look. */
	options.smaps = NULL;
	CHECK(gg_target_look_take(target, &options, &result, &scene->error) < 0);
}
