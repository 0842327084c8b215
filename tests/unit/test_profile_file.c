/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_file - follows the life of a profile's file.
 *
 * The tests show when the file appears, what a kill leaves of it, and which processes may write it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/scratch.h"
#include "made_profile.h"
#include "model/model.h"
#include "profile.h"
#include "profile/sql_query.h"
#include "test.h"

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

/* SQLite's rollback journal of the profile. */
static const char *journal_of(const struct profile_place *place)
{
	static char path[112];

	snprintf(path, sizeof(path), "%s-journal", place->path);
	return path;
}

/* Returns the number of samples in a profile; -1 if the file is not a whole profile. */
static int64_t samples_in(const char *path)
{
	struct gg_profile *profile;
	uint64_t seen = 0;

	if (gg_profile_open(&profile, path, &error) < 0)
		return -1;
	if (gg_profile_each_sample(profile, profile_count_sample, &seen, &error) < 0 ||
	    gg_profile_check(profile, profile_print_problem, NULL, &error) != 0)
		seen = UINT64_MAX;
	gg_profile_close(profile);
	return (int64_t)seen;
}

static struct gg_profile *create(const char *path)
{
	struct gg_profile *profile = NULL;

	OK(gg_profile_create(&profile, path, &error));
	if (profile != NULL) {
		OK(gg_profile_set_session(profile, &profile_session, &error));
		OK(gg_profile_add_process(profile, &(struct gg_profile_process){ .pid = 1 }, NULL,
		                          &error));
	}
	return profile;
}

static void add(struct gg_profile *profile, int number)
{
	struct gg_profile_sample sample = { .free_ns = GG_TIME_NONE,
		                            .process = 1,
		                            .size_bytes = 100,
		                            .draw = { .sampling_interval = 4096,
		                                      .sample_point_count = 1 } };

	for (int i = 0; i < number; i++)
		OK(gg_profile_add_sample(profile, &sample, NULL, &error));
}

static void make_file(const char *path, int number)
{
	struct gg_profile *profile = create(path);

	if (profile == NULL)
		return;
	add(profile, number);
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
}

TEST(what_is_no_file_is_refused_and_nobody_is_told_to_remove_it)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;

	CHECK_EQ_I64(gg_profile_create(&profile, "-", &error), -EINVAL);
	CHECK_CONTAINS(error.message, "standard output");
	CHECK_EQ_I64(gg_profile_create(&profile, "/dev/null", &error), -EEXIST);
	CHECK(strstr(error.advice, "remove") == NULL);
	CHECK_EQ_I64(gg_profile_create(&profile, place.directory, &error), -EEXIST);
	CHECK_CONTAINS(error.message, "is a directory");
	CHECK(strstr(error.advice, "remove") == NULL);
	CHECK(profile_place_remove(&place));
}

TEST(an_old_profile_stays_until_the_first_commit)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;

	make_file(place.path, 3);
	profile = create(place.path);
	if (profile == NULL)
		return;
	add(profile, 5);
	CHECK_EQ_I64(samples_in(place.path), 3);
	OK(gg_profile_commit(profile, &error));
	CHECK_EQ_I64(samples_in(place.path), 5);
	add(profile, 2);
	CHECK_EQ_I64(samples_in(place.path), 5);
	OK(gg_profile_commit(profile, &error));
	CHECK_EQ_I64(samples_in(place.path), 7);
	gg_profile_close(profile);
	CHECK_EQ_I64(samples_in(place.path), 7);
	CHECK(profile_place_remove(&place));
}

TEST(a_profile_is_its_owners_alone)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;
	struct stat status;
	mode_t mask = umask(0);

	if (OK(gg_profile_create(&profile, place.path, &error))) {
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
		CHECK(stat(place.path, &status) == 0 && (status.st_mode & 0777) == 0600);
	}
	umask(mask);
	CHECK(profile_place_remove(&place));
}

TEST(a_closed_profile_has_what_was_not_committed_and_no_journal)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile = create(place.path);
	unsigned char version[2] = { 0 };
	FILE *file;

	add(profile, 4);
	gg_profile_close(profile);
	CHECK_EQ_I64(samples_in(place.path), 4);
	file = fopen(place.path, "r");
	CHECK(fseek(file, 18, SEEK_SET) == 0 && fread(version, 1, 2, file) == 2);
	CHECK(version[0] == 1 && version[1] == 1); /* a rollback journal, no WAL */
	fclose(file);
	CHECK(profile_place_remove(&place));
}

/*
 * Writes and commits in a process of its own, which reports that it has written more and is killed.
 */
static void be_killed(const char *path, int uncommitted)
{
	int pipe_fds[2], status;
	char byte = 0;
	pid_t pid;

	if (pipe(pipe_fds) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		struct gg_profile *profile = create(path);

		add(profile, 1000);
		OK(gg_profile_commit(profile, &error));
		add(profile, 1000);
		OK(gg_profile_commit(profile, &error));
		add(profile, uncommitted);
		if (write(pipe_fds[1], test_failed ? "x" : "k", 1) == 1)
			pause();
		_exit(1);
	}
	CHECK(read(pipe_fds[0], &byte, 1) == 1 && byte == 'k');
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

TEST(a_kill_leaves_all_that_was_committed)
{
	struct profile_place place = profile_place_make();

	be_killed(place.path, 10);
	CHECK_EQ_I64(access(journal_of(&place), F_OK), 0);
	CHECK_EQ_I64(samples_in(place.path), 2000);
	be_killed(place.path, 450000); /* more than is kept in memory: the file is half changed */
	CHECK_EQ_I64(samples_in(place.path), 2000);
	CHECK(access(journal_of(&place), F_OK) < 0);
	CHECK(profile_place_remove(&place));
}

TEST(what_a_kill_left_is_replaced_with_its_journal)
{
	struct profile_place place = profile_place_make();

	be_killed(place.path, 450000);
	make_file(place.path, 9);
	CHECK_EQ_I64(samples_in(place.path), 9);
	CHECK(profile_place_remove(&place));
}

TEST(a_journal_without_its_profile_is_not_taken_for_that_of_a_new_one)
{
	struct profile_place place = profile_place_make();

	be_killed(place.path, 450000);
	unlink(place.path);
	CHECK_EQ_I64(access(journal_of(&place), F_OK), 0);
	make_file(place.path, 9);
	CHECK_EQ_I64(samples_in(place.path), 9);
	CHECK(profile_place_remove(&place));
}

TEST(a_killed_profile_that_cannot_be_recovered_says_what_to_do)
{
	struct profile_place place = profile_place_make();
	int status = 0;
	pid_t pid;

	be_killed(place.path, 10);
	chmod(place.path, 0444);
	chmod(journal_of(&place), 0444);
	chmod(place.directory, 0555);
	fflush(stdout);
	pid = fork();
	if (pid == 0) { /* root may write anywhere */
		struct gg_profile *profile;
		int open_status = 0;

		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		open_status = gg_profile_open(&profile, place.path, &error);
		if (open_status == 0) /* it may also be that nothing of the file had changed yet */
			_exit(0);
		_exit(strstr(error.advice, "-journal") != NULL ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	chmod(place.directory, 0755);
	unlink(journal_of(&place));
	CHECK(profile_place_remove(&place));
}

/* Runs in a process of its own: the signal comes while it makes a profile with its journal. */
static void be_ended(const char *path, int signal_number, bool is_ignored)
{
	struct gg_profile *profile;

	signal(signal_number, is_ignored ? SIG_IGN : SIG_DFL);
	gg_scratch_remove_at_signals();
	if (gg_profile_create_whole(&profile, path, &error) < 0 ||
	    gg_profile_commit(profile, &error) < 0 ||
	    gg_profile_add_note(profile, "half a profile", &error) < 0)
		_exit(2);
	raise(signal_number);
	gg_profile_close(profile);
	_exit(0);
}

TEST(a_signal_leaves_nothing_of_a_profile_that_is_not_whole)
{
	static const int numbers[] = { SIGTERM, SIGHUP, SIGINT };

	for (size_t i = 0; i < 2 * GG_COUNT(numbers); i++) {
		struct profile_place place = profile_place_make();
		int number = numbers[i / 2], status = 0;
		bool is_ignored = i % 2 != 0;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0)
			be_ended(place.path, number, is_ignored);
		waitpid(pid, &status, 0);
		CHECK_MSG(is_ignored ? WIFEXITED(status) && WEXITSTATUS(status) == 0
		                     : WIFSIGNALED(status) && WTERMSIG(status) == number,
		          "signal %d, status %x", number, status);
		CHECK(access(place.path, F_OK) < 0);
		CHECK(profile_place_remove(&place));
	}
}

TEST(two_recorders_do_not_write_one_profile)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *first = create(place.path), *second;

	OK(gg_profile_commit(first, &error)); /* idle from here on */
	CHECK_EQ_I64(gg_profile_create(&second, place.path, &error), -EBUSY);
	gg_profile_close(first);
	make_file(place.path, 1);
	CHECK_EQ_I64(samples_in(place.path), 1);
	CHECK(profile_place_remove(&place));
}

struct reader {
	struct gg_profile *writer;
	int visits;
};

static int commit_while_reading(const struct gg_profile_sample *sample, void *context)
{
	struct reader *reader = context;

	(void)sample;
	if (reader->visits++ == 0) {
		add(reader->writer, 5);
		OK(gg_profile_commit(reader->writer, &error));
	}
	return 0;
}

TEST(a_reader_delays_a_commit_and_loses_nothing)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *writer = create(place.path), *profile;
	struct reader reader = { writer, 0 };

	add(writer, 3);
	OK(gg_profile_commit(writer, &error));
	if (OK(gg_profile_open(&profile, place.path, &error))) {
		OK(gg_profile_each_sample(profile, commit_while_reading, &reader, &error));
		CHECK_EQ_I64(reader.visits, 3);
		gg_profile_close(profile);
	}
	/* A new reader waits for this commit, as the writer waited for the first reader. */
	OK(gg_profile_commit(writer, &error));
	CHECK_EQ_I64(samples_in(place.path), 8);
	gg_profile_close(writer);
	CHECK(profile_place_remove(&place));
}

/*
 * Starts a reader that holds the file as long as one that loads a large model, once it gets a byte:
 * it answers then with a byte.  SQLite's state must not come from before the fork.
 */
static pid_t start_slow_reader(const char *path, int ret_go[2], int ret_ready[2])
{
	pid_t child;
	char byte;

	REQUIRE(pipe(ret_go) == 0 && pipe(ret_ready) == 0);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		struct gg_profile *profile;
		bool has_begun;

		if (read(ret_go[0], &byte, 1) != 1 || gg_profile_open(&profile, path, &error) < 0 ||
		    gg_profile_begin_reading(profile, &has_begun, &error) < 0 ||
		    write(ret_ready[1], "r", 1) != 1)
			_exit(1);
		usleep(5600000); /* more than GG_DATABASE_BUSY_MS */
		_exit(0);
	}
	return child;
}

TEST(the_last_commit_waits_for_a_reader_that_takes_long)
{
	struct profile_place place = profile_place_make();
	int go[2], ready[2], status = 1;
	pid_t child = start_slow_reader(place.path, go, ready);
	struct gg_profile *writer = create(place.path);
	char byte;

	OK(gg_profile_commit(writer, &error));
	CHECK(write(go[1], "g", 1) == 1 && read(ready[0], &byte, 1) == 1);
	add(writer, 5);
	OK(gg_profile_finish(writer, &error));
	gg_profile_close(writer);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK_EQ_I64(samples_in(place.path), 5);
	CHECK(profile_place_remove(&place));
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(ready[i]);
	}
}

TEST(a_link_to_a_profile_stays_a_link)
{
	struct profile_place place = profile_place_make();
	char link_path[112];
	struct stat status;

	snprintf(link_path, sizeof(link_path), "%s/link", place.directory);
	make_file(place.path, 1);
	CHECK_EQ_I64(symlink("x.geiger", link_path), 0);
	make_file(link_path, 2);
	CHECK(lstat(link_path, &status) == 0 && S_ISLNK(status.st_mode));
	CHECK_EQ_I64(samples_in(place.path), 2);
	unlink(link_path);
	CHECK(profile_place_remove(&place));
}

TEST(what_is_no_profile_is_refused_before_anything_is_recorded)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;
	FILE *file = fopen(place.path, "w");
	char path[128];

	fputs("dear diary", file);
	fclose(file);
	CHECK_EQ_I64(gg_profile_create(&profile, place.path, &error), -EEXIST);
	CHECK_EQ_I64(gg_profile_open(&profile, place.path, &error), -EBADMSG);
	CHECK_EQ_I64(gg_profile_create(&profile, place.directory, &error), -EEXIST);
	CHECK_EQ_I64(gg_profile_create(&profile, "/dev/null", &error), -EEXIST);
	snprintf(path, sizeof(path), "%s/no/x.geiger", place.directory);
	CHECK_EQ_I64(gg_profile_create(&profile, path, &error), -ENOENT);
	CHECK_EQ_I64(gg_profile_open(&profile, path, &error), -ENOENT);
	file = fopen(place.path, "w"); /* an empty file is nobody's */
	fclose(file);
	make_file(place.path, 1);
	CHECK_EQ_I64(samples_in(place.path), 1);
	CHECK(profile_place_remove(&place));
}

TEST(a_relative_path_is_that_of_the_creation)
{
	struct profile_place place = profile_place_make();
	char *back = getcwd(NULL, 0);
	struct gg_profile *profile;

	CHECK_EQ_I64(chdir(place.directory), 0);
	profile = create("x.geiger");
	CHECK_EQ_I64(chdir(back), 0);
	free(back);
	add(profile, 1);
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	CHECK_EQ_I64(samples_in(place.path), 1);
	CHECK(profile_place_remove(&place));
}

TEST(a_full_disk_keeps_what_was_committed)
{
	struct profile_place place = profile_place_make();
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) { /* a limit on the size of files says the same */
		struct rlimit limit = { 1 << 20, 1 << 20 };
		struct gg_profile *profile = create(place.path);
		struct gg_profile_sample sample = profile_sample;
		int write_status = 0;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		add(profile, 100);
		OK(gg_profile_commit(profile, &error));
		for (int i = 0; i < 400000 && write_status == 0; i++)
			write_status = gg_profile_add_sample(profile, &sample, NULL, &error);
		if (write_status == 0)
			write_status = gg_profile_commit(profile, &error);
		CHECK(write_status < 0);
		/* Later writes fail with the same error, so that the file gets no hole. */
		CHECK(gg_profile_add_sample(profile, &sample, NULL, &error) < 0);
		CHECK(gg_profile_commit(profile, &error) < 0);
		CHECK_CONTAINS(error.message, "an earlier write failed (");
		CHECK_CONTAINS(error.message, strerror(-write_status));
		CHECK(gg_profile_finish(profile, &error) < 0);
		gg_profile_close(profile);
		fflush(stdout);
		_exit(test_failed);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ_I64(samples_in(place.path), 100);
	CHECK(profile_place_remove(&place));
}

static int keep_function(const struct gg_profile_line *line, void *context)
{
	snprintf(context, 32, "%s", line->function);
	return 0;
}

TEST(a_complete_profile_takes_better_names)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile = create(place.path);
	struct gg_profile_line line = { .function = "first" };
	char function[32] = "";
	uint32_t frame = 0, again = 0, stack = 0;

	OK(gg_profile_intern_frame(profile, 0, 77, &frame, &error));
	OK(gg_profile_intern_stack(profile, 0, frame, &stack, &error));
	OK(gg_profile_put_lines(profile, frame, &line, 1, &error));
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	if (!OK(gg_profile_edit(&profile, place.path, &error)))
		return;
	line.function = "second";
	OK(gg_profile_intern_frame(profile, 0, 77, &again, &error));
	CHECK_EQ_U64(again, frame);
	OK(gg_profile_intern_stack(profile, 0, frame, &again, &error));
	CHECK_EQ_U64(again, stack);
	OK(gg_profile_put_lines(profile, frame, &line, 1, &error));
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	CHECK_EQ_I64(samples_in(place.path), 0);
	if (OK(gg_profile_open(&profile, place.path, &error))) {
		OK(gg_profile_each_line(profile, keep_function, function, &error));
		CHECK_MSG(strcmp(function, "second") == 0, "%s", function);
		CHECK_EQ_I64(gg_profile_add_note(profile, "no", &error), -EROFS);
		gg_profile_close(profile);
	}
	CHECK(profile_place_remove(&place));
}

TEST(ends_that_come_late_do_not_make_the_file_larger)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile = create(place.path);
	struct stat before, after;

	OK(gg_profile_add_thread(profile, &(struct gg_profile_thread){ .process = 1 }, NULL,
	                         &error));
	add(profile, 20000);
	OK(gg_profile_commit(profile, &error));
	stat(place.path, &before);
	for (uint64_t i = 1; i <= 20000; i++) {
		struct gg_profile_sample_end end = { .free_ns = INT64_C(1) << 46, .thread = 1 };

		OK(gg_profile_end_sample(profile, i * 7919 % 20000 + 1, &end, &error));
	}
	OK(gg_profile_commit(profile, &error));
	stat(place.path, &after);
	CHECK_EQ_I64(before.st_size, after.st_size);
	gg_profile_close(profile);
	CHECK(profile_place_remove(&place));
}

/* Reads "stack, live samples, allocated samples, allocated bytes" of the stored sums, as a text. */
static void read_sums(const char *path, char text[200])
{
	struct gg_profile *profile;
	struct gg_sql_query *query;
	int length = 0;

	if (!OK(gg_profile_open(&profile, path, &error)))
		return;
	OK(gg_sql_query_new(&query, profile,
	                    "select stack, live_samples, allocated_samples, allocated_bytes"
	                    " from stack_sum order by stack",
	                    &error));
	while (gg_sql_query_next(query, &error) > 0)
		length += snprintf(
			text + length, 200 - (size_t)length, "%d:%d,%d,%.0f ",
			(int)gg_sql_query_integer(query, 0), (int)gg_sql_query_integer(query, 1),
			(int)gg_sql_query_integer(query, 2), gg_sql_query_number(query, 3));
	gg_sql_query_free(query);
	gg_profile_close(profile);
}

/* So many samples are added up by two threads, each through its own connection. */
TEST(the_summary_counts_every_sample_of_many_once)
{
	enum { COUNT = 120000, SIZE = 10 };
	struct profile_place place = profile_place_make();
	struct gg_profile *profile = create(place.path);
	struct gg_profile_sample sample = { .process = 1,
		                            .size_bytes = SIZE,
		                            .draw = { .sampling_interval = 1,
		                                      .sample_point_count = 1 } };
	uint32_t frame, stack;
	char text[200] = "";

	OK(gg_profile_intern_frame(profile, 0, 77, &frame, &error));
	OK(gg_profile_intern_stack(profile, 0, frame, &stack, &error));
	for (int i = 0; i < COUNT; i++) {
		sample.stack = i % 3 == 0 ? stack : 0;
		sample.free_ns = i % 4 == 0 ? GG_TIME_NONE : 1;
		OK(gg_profile_add_sample(profile, &sample, NULL, &error));
	}
	/* A child still holds block 2, which its parent freed. */
	sample.origin = 2;
	sample.stack = 0;
	sample.free_ns = GG_TIME_NONE;
	OK(gg_profile_add_sample(profile, &sample, NULL, &error));
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	read_sums(place.path, text);
	CHECK_MSG(strcmp(text, "0:20001,80000,800000 1:10000,40000,400000 ") == 0, "%s", text);
	CHECK_EQ_I64(samples_in(place.path), COUNT + 1);
	CHECK(profile_place_remove(&place));
}

/* A recorder that commits a process and a sample of it while a model is loaded. */
static int commit_more(gg_line_visit *visit, void *visitor, void *recorder)
{
	struct made_profile *made = recorder;

	(void)visit;
	(void)visitor;
	made_process(made, 4712, 10, GG_TIME_NONE);
	made_sample(made, made_stack(made, "main>later"), 4096, 20, GG_TIME_NONE);
	OK(gg_profile_commit(made->profile, &error));
	return 0;
}

TEST(a_model_has_one_state_of_a_profile_that_grows)
{
	struct profile_place place = profile_place_make();
	struct gg_model_options options = { .more_lines = commit_more };
	struct gg_profile *reader;
	struct made_profile made;
	struct gg_model *model;

	made_begin(&made, place.path, 1000, 1);
	made_sample(&made, made_stack(&made, "main>first"), 4096, 5, GG_TIME_NONE);
	OK(gg_profile_commit(made.profile, &error));
	OK(gg_profile_open(&reader, place.path, &error));
	options.context = &made;
	for (size_t look = 1; look <= 3; look++) {
		OK(gg_model_load(&model, &reader, 1, &options, &error));
		CHECK_EQ_U64(model->sample_count, look);
		for (size_t i = 0; i < model->sample_count; i++) {
			CHECK(model->samples[i].process != 0);
			CHECK(model->samples[i].stack != 0);
		}
		gg_model_free(model);
		OK(gg_profile_commit(made.profile, &error));
	}
	gg_profile_close(reader);
	gg_profile_close(made.profile);
	CHECK(profile_place_remove(&place));
}
