/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `geiger record` on real programs: what is in the profile, and that the program does not notice.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profile.h"
#include "recording.h"
#include "test.h"

#define RUN(r, ...) recording_run((r), (const char *const[]){ __VA_ARGS__, NULL }, 60)

static const char *helper(void)
{
	return getenv("RECORD_PROGRAM");
}

/* --- what is in it --- */

struct tally {
	uint64_t sample_count, live_count, stackless_count, frame_count, inside_count;
	int64_t last_alloc_ns;
	bool is_ordered;
	uint64_t last_id;
};

static int add_sample(const struct gg_profile_sample *sample, void *context)
{
	struct tally *tally = context;

	tally->sample_count++;
	tally->live_count += sample->free_ns == GG_TIME_NONE;
	tally->stackless_count += sample->stack == 0;
	tally->is_ordered &= sample->id > tally->last_id && sample->free_ns >= sample->alloc_ns;
	tally->last_id = sample->id;
	if (sample->alloc_ns > tally->last_alloc_ns)
		tally->last_alloc_ns = sample->alloc_ns;
	return 0;
}

static int add_frame(const struct gg_profile_frame *frame, void *context)
{
	struct tally *tally = context;

	tally->frame_count++;
	tally->inside_count += frame->module != 0 && frame->address < UINT64_C(1) << 32;
	return 0;
}

TEST(a_profile_has_samples_with_stacks_in_modules_and_one_process)
{
	struct tally tally = { .is_ordered = true };
	struct gg_profile *profile = NULL;
	struct gg_error error = { 0 };
	struct gg_profile_session session;
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "4k", "--", helper(), "allocate", "20000")) &&
	    CHECK_EQ_I64(r.child.exit_status, 0) &&
	    CHECK_MSG(gg_profile_open(&profile, r.path, &error) == 0, "%s", error.message)) {
		CHECK_EQ_I64(gg_profile_session(profile, &session, &error), 0);
		CHECK(session.exit_status == 0 && session.has_history);
		CHECK(session.interval_bytes == 4096 && session.end_ns != GG_TIME_NONE);
		CHECK_CONTAINS(session.command, " allocate 20000");
		CHECK_EQ_I64(gg_profile_each_sample(profile, add_sample, &tally, &error), 0);
		CHECK_EQ_I64(gg_profile_each_frame(profile, add_frame, &tally, &error), 0);
		/* 20 000 blocks of 1000 bytes, half of them freed: 20 MB / 4 KiB = 4883 marks,
		 * sampled blocks 4330 +- 60. */
		CHECK_MSG(tally.sample_count > 3900 && tally.sample_count < 4800, "%lu samples",
		          (unsigned long)tally.sample_count);
		CHECK(tally.live_count > 1900 && tally.live_count < 2450);
		CHECK(tally.stackless_count == 0 && tally.is_ordered);
		CHECK(tally.last_alloc_ns <= session.end_ns);
		CHECK(tally.frame_count > 0 && tally.inside_count == tally.frame_count);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
		CHECK_EQ_STR(recording_text(&r, "select ending from process"), "exited 0");
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from module where path like "
		                                     "'%record_program' and length(build_id) = 20"),
		                1);
		CHECK(recording_number(&r, "select count(*) from mapping") >= 4);
		CHECK(recording_number(&r, "select count(*) from thread") >= 1);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from coarse"), 0);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note"), 0);
		CHECK(recording_adds_up(&r));
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "p.geiger: ");
	}
	gg_profile_close(profile);
	recording_end(&r);
}

/* The number of samples in the closing line, in the report and in SQL. */
static void check_sample_counts(struct recording *r)
{
	const char *closing = strstr(gg_buf_text(&r->child.err), "p.geiger: "), *json;
	double told = closing != NULL ? strtod(closing + strlen("p.geiger: "), NULL) : -1;
	const char *lost = strstr(gg_buf_text(&r->child.err), "times of ");

	CHECK_MSG(lost == NULL || strtod(lost + strlen("times of "), NULL) <= told, "%s",
	          gg_buf_text(&r->child.err));

	CHECK_MSG(recording_number(r, "select sum(allocated_samples) from v_stack") == told,
	          "%.0f told, %s", told,
	          recording_text(r, "select sum(allocated_samples) from v_stack"));
	CHECK(recording_geiger(r, (const char *const[]){ "report", "--json", r->path, NULL }, 60));
	json = strstr(gg_buf_text(&r->child.out), "\"samples\":");
	CHECK_MSG(json != NULL && strtod(json + strlen("\"samples\":"), NULL) == told,
	          "%.0f told, report: %.30s", told, json != NULL ? json : "");
}

TEST(the_number_of_samples_is_one_in_all_commands)
{
	static const char *const programs[][2] = { { "churn", "300000" },
		                                   { "fork", "2000" },
		                                   { "share", "10000" } };
	const char *const environment[] = { "GEIGER_RING=64", NULL };
	struct recording r;

	for (size_t i = 0; i < GG_COUNT(programs); i++) {
		const char *const options[] = { "-i",           "1",      "--no-symbols",
			                        "--",           helper(), programs[i][0],
			                        programs[i][1], NULL };

		if (CHECK(recording_begin(&r)) &&
		    CHECK(recording_run_with(&r, options, environment, 60)))
			check_sample_counts(&r);
		recording_end(&r);
	}
}

TEST(what_children_inherited_is_not_allocated_again_where_history_was_lost)
{
	const char *const options[] = { "-i",     "1",     "--no-symbols", "--",
		                        helper(), "share", "10000",        NULL };
	const char *const environment[] = { "GEIGER_RING=64", NULL };
	struct recording r;
	const char *at;

	if (CHECK(recording_begin(&r)) && CHECK(recording_run_with(&r, options, environment, 60))) {
		recording_geiger(&r, (const char *[]){ "report", "--json", r.path, NULL }, 60);
		at = strstr(gg_buf_text(&r.child.out), "\"allocated_bytes\":");
		at = at != NULL ? strstr(at, "\"low\":") : NULL;
		/*
		 * 10 000 blocks of 1000 bytes and a table of the parent, 10 blocks of each child.
		 */
		CHECK_MSG(at != NULL && strtod(at + strlen("\"low\":"), NULL) < 10.3e6, "%.60s",
		          at != NULL ? at : "none");
	}
	recording_end(&r);
}

TEST(the_history_that_a_small_ring_loses_is_in_the_sums)
{
	const char *const options[] = { "-i", "1", "--", helper(), "churn", "300000", NULL };
	const char *const environment[] = { "GEIGER_RING=64", NULL };
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(recording_run_with(&r, options, environment, 60))) {
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK(recording_number(&r, "select count(*) from coarse where lost") > 0);
		CHECK(recording_adds_up(&r));
		CHECK(recording_number(&r, "select sum(allocated_samples) from total") >= 300000);
		CHECK(recording_number(&r, "select count(*) from event where kind = 'drop'") > 0);
		CHECK(recording_number(&r, "select count(*) from note") > 0);
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "were lost: ");
	}
	recording_end(&r);
}

TEST(all_that_is_in_order_is_in_the_history)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1", "--", helper(), "churn", "3000"))) {
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from coarse"), 0);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from sample where size = 777"), 3000);
		/* The last one stays. */
		CHECK_EQ_DOUBLE(recording_number(&r,
		                                 "select count(*) from sample where size = 777 and "
		                                 "t_free is null"),
		                1);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from sample where flags & 2"),
		                0);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

TEST(each_process_of_a_pipeline_is_there_with_its_parent)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1k", "--", "sh", "-c", "ls -l /usr/bin | sort | wc -l; :"))) {
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from process where parent is null"),
			1);
		CHECK_EQ_DOUBLE(recording_number(
					&r, "select count(*) from process where exe like '%/ls' or "
					    "exe like '%/sort' or exe like '%/wc'"),
		                3);
		CHECK(recording_number(&r, "select count(distinct process) from sample") >= 3);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

TEST(an_exec_ends_one_process_and_begins_the_next_of_its_pid)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1k", "--", "sh", "-c", "exec env ls /"))) {
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 3);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(distinct pid) from process"), 1);
		CHECK_EQ_STR(recording_text(&r, "select group_concat(ending) from process"),
		             "exec,exec,exited 0");
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from event where kind = 'exec'"), 2);
	}
	recording_end(&r);
}

TEST(what_a_child_inherits_is_known_as_its_ancestors)
{
	struct recording r;
	char said[64];

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "4k", "--", helper(), "fork", "2000"))) {
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 4);
		CHECK(recording_number(&r, "select count(*) from sample where origin > 0") > 500);
		snprintf(said, sizeof(said), "p.geiger: %lld samples of 4 processes",
		         (long long)recording_number(&r, "select count(*) from sample where origin "
		                                         "is null or origin = id"));
		CHECK_CONTAINS(gg_buf_text(&r.child.err), said);
		/* Each is the ancestor's own sample, of the same time, place and address. */
		CHECK_EQ_DOUBLE(
			recording_number(
				&r,
				"select count(*) from sample s left join sample o on o.id = s.origin"
				" where s.origin > 0 and (o.id is null or o.origin > 0 or o.process "
				"= s.process or o.t_alloc <> s.t_alloc or o.address <> s.address or "
				"o.stack <> s.stack)"),
			0);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from process where parent is null"),
			1);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

/* Ten times one of two modules, which come to lie at the same place. */
static void reload(const char *pause_milliseconds)
{
	/* The innermost frame is in the module whose size it is. */
	static const char wrong[] =
		"select count(*) from sample s, stack k, frame f, module m where s.size in "
		"(2000, 2001) and k.id = s.stack and f.id = k.frame and m.id = f.module and "
		"m.path not like '%record-module-' || s.size || '.so'";
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1", "--", helper(), "reload", "10", pause_milliseconds)) &&
	    CHECK_EQ_I64(r.child.exit_status, 0)) {
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from sample where size = 2000"), 100);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from sample where size = 2001"), 100);
		CHECK_MSG(recording_number(&r, wrong) == 0, "%g", recording_number(&r, wrong));
		CHECK(recording_number(&r, "select count(*) from mapping where unload_ns is not "
		                           "null and unload_ns < 9e18") > 0);
	}
	recording_end(&r);
}

TEST(frames_are_of_the_module_that_was_loaded_then)
{
	reload("0");   /* all in one round of the recorder */
	reload("130"); /* each in another one */
}

TEST(a_child_whose_environment_is_in_pieces_is_recorded)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1k", "--", helper(), "environment", "1000"))) {
		CHECK_MSG(r.child.exit_status == 0, "%d", r.child.exit_status);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 2);
	}
	recording_end(&r);
}

TEST(children_without_roots_privileges_belong_to_its_session)
{
	struct recording r;

	if (geteuid() != 0)
		SKIP("not root");
	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1k", "--", helper(), "drop", "1000"))) {
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 2);
		CHECK(recording_number(&r,
		                       "select min(n) from (select count(*) n from sample group "
		                       "by process)") > 300);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

TEST(a_recording_within_a_recording_is_a_session_of_its_own)
{
	struct recording r;
	char inner[128];

	if (CHECK(recording_begin(&r))) {
		snprintf(inner, sizeof(inner), "%s/inner.geiger", r.directory);
		if (CHECK(RUN(&r, "-i", "1k", "--", getenv("GEIGER"), "record", "-q", "-i", "1k",
		              "-o", inner, "--", helper(), "allocate", "1000"))) {
			CHECK_EQ_I64(r.child.exit_status, 0);
			CHECK_EQ_DOUBLE(
				recording_number(&r, "select count(*) from process where exe like "
			                             "'%record_program'"),
				0);
			CHECK(recording_number(&r, "select count(*) from process where exe like "
			                           "'%geiger'") >= 1);
			snprintf(r.path, sizeof(r.path), "%s/inner.geiger", r.directory);
			CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
			CHECK(recording_number(&r, "select count(*) from sample") > 300);
		}
	}
	recording_end(&r);
}

TEST(a_daemon_belongs_to_the_session_until_it_ends)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "4k", "--", helper(), "daemon", "3000"))) {
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_EQ_STR(gg_buf_text(&r.child.out), "parent\n");
		/* The daemon allocates 3 s after the command has ended. */
		CHECK(recording_number(&r, "select count(*) from sample where t_alloc > 2900000000 "
		                           "and origin is null") > 50);
		CHECK(recording_number(&r, "select end_ns from session") > 3e9);
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "recording goes on");
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process where ending = "
		                                     "'exited 5'"),
		                1);
	}
	recording_end(&r);
}

TEST(a_killed_program_leaves_all_up_to_its_last_sample)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1", "--", helper(), "killed", "5000"))) {
		CHECK_EQ_I64(r.child.exit_status, 128 + SIGKILL);
		CHECK_EQ_DOUBLE(recording_number(&r, "select exit_status from session"), 137);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from sample where size = 777"), 5000);
		CHECK_EQ_STR(recording_text(&r, "select ending from process"),
		             "killed by signal 9");
		CHECK(recording_adds_up(&r));
		CHECK(recording_geiger(&r, (const char *const[]){ "report", r.path, NULL }, 60));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), " was killed by signal 9 (SIGKILL)\n");
	}
	recording_end(&r);
}

TEST(a_compiler_driver_and_its_children_are_one_session)
{
	static const char source[] = "#include <stdio.h>\nint main(void) { return puts(\"x\"); }\n";
	struct recording r;
	char file[128], object[128];

	if (CHECK(recording_begin(&r))) {
		int fd;

		snprintf(file, sizeof(file), "%s/x.c", r.directory);
		snprintf(object, sizeof(object), "%s/x.o", r.directory);
		fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
		CHECK(fd >= 0 && write(fd, source, sizeof(source) - 1) > 0);
		close(fd);
		if (CHECK(RUN(&r, "-i", "64k", "--", "gcc", "-O2", "-c", file, "-o", object))) {
			CHECK(r.child.exit_status == 0 && access(object, R_OK) == 0);
			CHECK(recording_number(&r, "select count(*) from process where exe like "
			                           "'%/cc1' or exe like '%as' or exe like "
			                           "'%gcc%'") >= 3);
			CHECK(recording_number(&r, "select count(*) from sample, process p where "
			                           "process = p.id and exe like '%/cc1'") > 20);
			CHECK(recording_adds_up(&r));
		}
	}
	recording_end(&r);
}

TEST(mappings_and_free_stacks_are_recorded_on_demand)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1", "--mmap", "--free-stacks", "--seed", "7", "--scheme",
	              "bernoulli", "--", helper(), "map", "10"))) {
		CHECK_EQ_DOUBLE(
			recording_number(&r,
		                         "select count(*) from sample where flags & 1 and size = "
		                         "8192"),
			10);
		CHECK_EQ_DOUBLE(recording_number(&r,
		                                 "select count(*) from sample where size = 777 and "
		                                 "free_stack > 0"),
		                9);
		CHECK_EQ_STR(recording_text(&r, "select scheme.name from session, scheme where "
		                                "scheme.id = session.scheme"),
		             "bernoulli");
	}
	recording_end(&r);
}

/* --- that the program does not notice --- */

TEST(exit_statuses_are_the_commands)
{
	static const struct {
		const char *script;
		int status;
	} cases[] = { { "exit 0", 0 },          { "exit 1", 1 },          { "exit 77", 77 },
		      { "kill -INT $$", 130 },  { "kill -KILL $$", 137 }, { "exit 126", 126 },
		      { "kill -TERM $$", 143 }, { "kill -ABRT $$", 134 } };
	struct recording r;

	if (CHECK(recording_begin(&r)))
		for (size_t i = 0; i < GG_COUNT(cases); i++) {
			if (!CHECK(RUN(&r, "--", "sh", "-c", cases[i].script)))
				continue;
			CHECK_MSG(r.child.exit_status == cases[i].status, "%s: %d", cases[i].script,
			          r.child.exit_status);
			CHECK_EQ_DOUBLE(recording_number(&r, "select exit_status from session"),
			                cases[i].status);
		}
	recording_end(&r);
}

TEST(our_own_failures_are_125_126_and_127)
{
	struct recording r;
	char path[128];
	struct stat before, after;

	if (!CHECK(recording_begin(&r)) || !CHECK(RUN(&r, "--", "true")))
		return;
	CHECK_EQ_I64(stat(r.path, &before), 0);
	CHECK(RUN(&r, "--", "no-such-command") && r.child.exit_status == 127);
	CHECK_CONTAINS(gg_buf_text(&r.child.err), "no-such-command: ");
	CHECK(RUN(&r, "--", r.path) && r.child.exit_status == 126);
	/* The file that existed before still exists. */
	CHECK(stat(r.path, &after) == 0 && before.st_ino == after.st_ino);
	CHECK(RUN(&r, "--no-such-option", "--", "true") && r.child.exit_status == 125);
	CHECK(RUN(&r, "--max-time", "soon", "--", "true") && r.child.exit_status == 125);
	CHECK(RUN(&r, "-q") && r.child.exit_status == 125);
	CHECK(RUN(&r, "-o", "/nonexistent/p", "--", "true") && r.child.exit_status == 125);
	CHECK(RUN(&r, "-o", "/dev/null", "--", "true") && r.child.exit_status == 125);
	snprintf(path, sizeof(path), "%s/text", r.directory);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	CHECK(fd >= 0 && write(fd, "precious\n", 9) == 9);
	close(fd);
	CHECK(RUN(&r, "-o", path, "--", "true") && r.child.exit_status == 125);
	CHECK(stat(path, &after) == 0 && after.st_size == 9);
	recording_end(&r);
}

TEST(an_existing_profile_is_replaced)
{
	struct recording r;

	if (CHECK(recording_begin(&r))) {
		CHECK(RUN(&r, "-i", "1k", "--", "ls", "/") && r.child.exit_status == 0);
		CHECK(RUN(&r, "-i", "1k", "--", "true") && r.child.exit_status == 0);
		CHECK_EQ_STR(recording_text(&r, "select command from session"), "true");
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
	}
	recording_end(&r);
}

TEST(a_command_is_told_without_what_keeps_the_agent_out)
{
	struct recording r;

	if (recording_begin(&r)) {
		CHECK(RUN(&r, "--", "env", "-u", "LD_PRELOAD", "true", "x") &&
		      r.child.exit_status == 0);
		CHECK_EQ_STR(recording_text(&r, "select command from session"), "true x");
		CHECK(RUN(&r, "--", "env", "-u", "LD_PRELOAD") && r.child.exit_status == 0);
		CHECK_EQ_I64(strncmp(recording_text(&r, "select command from session"), "env", 3),
		             0);
	}
	recording_end(&r);
}

/* Runs a command with and without us, and compares all that comes out. */
static void compare_output(const char *const command[], const char *note)
{
	const char *options[32] = { "-q", "-i", "4k", "--" };
	struct child plain;
	struct recording r;

	for (size_t i = 0; command[i] != NULL; i++)
		options[4 + i] = command[i];
	if (CHECK(recording_begin(&r)) && CHECK(child_run(&plain, command, NULL, 60)) &&
	    CHECK(recording_run(&r, options, 60))) {
		CHECK_MSG(r.child.exit_status == plain.exit_status, "%s: %d", note,
		          r.child.exit_status);
		CHECK_MSG(r.child.out.length == plain.out.length &&
		                  memcmp(gg_buf_text(&r.child.out), gg_buf_text(&plain.out),
		                         plain.out.length) == 0,
		          "%s: output differs", note);
		CHECK_MSG(strcmp(gg_buf_text(&r.child.err), gg_buf_text(&plain.err)) == 0, "%s: %s",
		          note, gg_buf_text(&r.child.err));
	}
	child_done(&plain);
	recording_end(&r);
}

TEST(output_is_the_same_byte_for_byte)
{
	const char *const shell[] = { "sh", "-c", "ls / | sort -r; echo error >&2; exit 3", NULL };
	const char *const python[] = { "python3", "-c",
		                       "import json; print(json.dumps([{'a': i} for i in "
		                       "range(20000)]))",
		                       NULL };
	const char *const sqlite[] = {
		"sqlite3", ":memory:",
		"create table t(a); with recursive n(i) as (select 1 union "
		"all select i + 1 from n where i < 20000) insert into t "
		"select i * 7 % 1009 from n; select a, count(*) from t group "
		"by a order by a;",
		NULL
	};
	const char *const much[] = { "sh", "-c", "head -c 30000000 /dev/zero | tr '\\0' x", NULL };

	compare_output(shell, "shell");
	compare_output(python, "python3");
	compare_output(sqlite, "sqlite3");
	compare_output(much, "much output");
}

TEST(a_recording_is_not_written_to_standard_output)
{
	const char *argv[] = { "sh", "-c", "\"$GEIGER\" record -o - true", NULL };
	struct child child;

	if (CHECK(child_run(&child, argv, NULL, 600)))
		CHECK_MSG(child.exit_status == 125 && child.out.length == 0 &&
		                  strstr(gg_buf_text(&child.err), "Name a file; ./- is one.") !=
		                          NULL,
		          "%d: %s", child.exit_status, gg_buf_text(&child.err));
	child_done(&child);
}

TEST(closed_streams_stay_closed)
{
	static const char script[] =
		"\"$GEIGER\" record -q -o \"$0\" -- \"$RECORD_PROGRAM\" streams 3<&- <&- 2>&- | cat";
	struct recording r;
	struct child child;

	if (CHECK(recording_begin(&r))) {
		const char *argv[] = { "sh", "-c", script, r.path, NULL };

		if (CHECK(child_run(&child, argv, NULL, 60)))
			CHECK_MSG(strcmp(gg_buf_text(&child.out), "0 closed, 1 open, 2 closed\n") ==
			                  0,
			          "%s", gg_buf_text(&child.out));
		child_done(&child);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
	}
	recording_end(&r);
}

TEST(a_reader_that_goes_away_is_the_commands_affair)
{
	struct recording r;
	struct child child;

	if (CHECK(recording_begin(&r))) {
		const char *argv[] = { "bash", "-c",
			               "\"$GEIGER\" record -q -o \"$0\" -- yes | head -1; "
			               "echo ${PIPESTATUS[0]}",
			               r.path, NULL };

		if (CHECK(child_run(&child, argv, NULL, 60)))
			CHECK_MSG(strcmp(gg_buf_text(&child.out), "y\n141\n") == 0, "%s",
			          gg_buf_text(&child.out));
		child_done(&child);
	}
	recording_end(&r);
}

TEST(the_environment_keeps_what_the_user_preloads)
{
	const char *const options[] = { "-q", "--", "sh", "-c", "echo $LD_PRELOAD; echo $HOME_X",
		                        NULL };
	const char *const environment[] = { "LD_PRELOAD=libm.so.6", "HOME_X=1", NULL };
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(recording_run_with(&r, options, environment, 60))) {
		const char *out = gg_buf_text(&r.child.out);

		CHECK_CONTAINS(out, "libgeiger-agent.so:libm.so.6\n1\n");
	}
	recording_end(&r);
}

/* --- options --- */

TEST(children_are_left_out_on_demand)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "--no-children", "-i", "1k", "--", "sh", "-c", "ls / | sort; :"))) {
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from process where exe like '%sh'"),
			1);
	}
	recording_end(&r);
}

TEST(max_time_ends_the_recording_and_not_the_command)
{
	struct recording r;

	/* Seconds apart: until it records, and from when it should end to when it does. */
	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "--max-time", "1.5", "-i", "4k", "--", helper(), "slow", "6000"))) {
		CHECK_EQ_I64(r.child.exit_status, 9);
		CHECK_EQ_STR(gg_buf_text(&r.child.out), "slow is done\n");
		CHECK_EQ_STR(recording_text(&r, "select ending from process"), "lived on");
		CHECK(recording_number(&r, "select max(t_alloc) from sample") < 5.5e9);
		CHECK(recording_number(&r, "select count(*) from sample") > 10);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

TEST(what_the_kernel_says_of_memory_stands_beside_the_estimate)
{
	struct recording r;

	/* Looks are a second apart, and on a busy machine one may leave out its walks. */
	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "4k", "--", helper(), "slow", "4500"))) {
		CHECK_EQ_DOUBLE(
			recording_number(&r,
		                         "select max(rss_bytes) > 1000000 and max(pss_bytes) > 0 "
		                         "and max(heap_bytes) > 0 and max(live_bytes) > 0 "
		                         "from memory where process > 0"),
			1);
		CHECK(recording_number(&r, "select count(*) from memory where process > 0") >= 3);
	}
	recording_end(&r);
}

TEST(memory_is_read_of_programs_that_end_soon)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(RUN(&r, "-i", "4k", "--", helper(), "slow", "900")))
		CHECK(recording_number(&r, "select count(*) from memory where process > 0 and "
		                           "rss_bytes > 1000000 and time_ns > 10e6") >= 2);
	recording_end(&r);
}

TEST(a_spike_between_readings_is_in_the_maximum_that_the_kernel_keeps)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "64k", "--", helper(), "spike", "100"))) {
		CHECK(recording_number(&r, "select max(max_rss_bytes) from memory") > 100 << 20);
		CHECK(recording_number(&r, "select max(max_rss_bytes) from memory") < 140 << 20);
		CHECK(recording_geiger(&r, (const char *[]){ "report", r.path, NULL }, 60));
		CHECK_MSG(strstr(gg_buf_text(&r.child.out), "highest ") != NULL, "%s",
		          gg_buf_text(&r.child.out));
	}
	recording_end(&r);
}

TEST(rows_of_processes_that_share_blocks_say_that_they_do_not_add_up)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1k", "--", helper(), "together", "3000"))) {
		CHECK(recording_geiger(
			&r,
			(const char *[]){ "report", r.path, "-m", "peak", "--by", "process", NULL },
			60));
		CHECK_MSG(strstr(gg_buf_text(&r.child.out),
		                 "share by fork count in each row, once in the total.") != NULL,
		          "%s", gg_buf_text(&r.child.out));
	}
	recording_end(&r);
}

/* Before it executes the command, its process is a copy of the recorder. */
TEST(the_recorder_is_not_in_the_maximum_of_the_command)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && CHECK(RUN(&r, "--", helper(), "churn", "1")))
		CHECK(recording_number(&r, "select coalesce(max(max_rss_bytes), 0) from memory") <
		      12 << 20);
	recording_end(&r);
}

TEST(what_geiger_takes_itself_is_told_apart)
{
	struct recording r;

	/* Every block is a sample: region and tables grow with the program. */
	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1", "--", helper(), "slow", "900"))) {
		CHECK(recording_number(&r, "select max(geiger_bytes) from memory") > 100 << 10);
		CHECK_EQ_DOUBLE(recording_number(
					&r, "select count(*) from memory where geiger_file_bytes > "
					    "geiger_bytes or geiger_file_bytes <= 0 or "
					    "pss_geiger_bytes > geiger_bytes"),
		                0);
	}
	recording_end(&r);
}

TEST(processes_that_live_together_are_walked_in_one_round)
{
	struct recording r;
	char line[600];

	snprintf(line, sizeof(line), "%s slow 1500 & %s slow 1500 & wait", helper(), helper());
	if (CHECK(recording_begin(&r)) && CHECK(RUN(&r, "-i", "4k", "--", "/bin/sh", "-c", line)))
		CHECK(recording_number(&r, "select max(n) from (select count(pss_file_bytes) as n "
		                           "from memory where process > 0 group by time_ns)") >= 3);
	recording_end(&r);
}

TEST(why_nothing_was_sampled_is_said)
{
	struct recording r;

	if (access("/sbin/ldconfig", X_OK) < 0)
		SKIP("no statically linked program here");
	if (CHECK(recording_begin(&r)) && CHECK(RUN(&r, "--", "/sbin/ldconfig", "--version"))) {
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "statically linked");
		CHECK_CONTAINS(recording_text(&r, "select text from note"), "statically");
	}
	recording_end(&r);
}

TEST(a_profile_without_a_name_is_called_after_command_and_pid)
{
	struct recording r;
	struct child child;

	if (CHECK(recording_begin(&r))) {
		const char *argv[] = { "sh", "-c",
			               "cd \"$0\" && \"$GEIGER\" record -- sh -c 'echo $$' && ls",
			               r.directory, NULL };
		char name[64];

		if (CHECK(child_run(&child, argv, NULL, 60))) {
			snprintf(name, sizeof(name), "\nsh.%d.geiger\n",
			         atoi(gg_buf_text(&child.out)));
			CHECK_CONTAINS(gg_buf_text(&child.out), name);
			CHECK_CONTAINS(gg_buf_text(&child.err), "wrote sh.");
		}
		child_done(&child);
	}
	recording_end(&r);
}

TEST(processes_have_the_names_that_they_gave_themselves)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "1", "--", helper(), "title", "2000"))) {
		CHECK_EQ_STR(recording_text(&r, "select command from process where parent is not "
		                                "null"),
		             "worker: at work");
		CHECK_EQ_STR(recording_text(&r, "select thread.name from thread join process on "
		                                "process = process.id and parent is not null"),
		             "worker");
		CHECK_CONTAINS(
			recording_text(&r, "select command from process where parent is null"),
			" title 2000");
	}
	recording_end(&r);
}

TEST(the_program_is_named_as_it_was_executed)
{
	char link[160], query[256];
	struct recording r;

	if (CHECK(recording_begin(&r))) {
		snprintf(link, sizeof(link), "%s/other", r.directory);
		CHECK_EQ_I64(symlink(helper(), link), 0);
		CHECK(RUN(&r, "-i", "4k", "--", link, "churn", "1000"));
		snprintf(query, sizeof(query), "select count(*) from module where path = '%s'",
		         link);
		CHECK_EQ_DOUBLE(recording_number(&r, query), 1);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process where exe like "
		                                     "'%record_program'"),
		                1);
	}
	recording_end(&r);
}

TEST(a_program_that_executes_itself_keeps_its_name)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(RUN(&r, "-i", "4k", "--", helper(), "itself", "100000"))) {
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from module where path like "
		                                     "'%record_program'"),
		                1);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from module where path like "
		                                     "'/proc/%'"),
		                0);
	}
	recording_end(&r);
}
