/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with the agent alone: `geiger env`, `ls`, `salvage`, `clean`. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "recording.h"
#include "region/layout.h"
#include "test.h"

static const char *helper(void)
{
	return getenv("RECORD_PROGRAM");
}

/*
 * Only in directories of our own: others' regions are not ours to remove.  Runs `geiger env OPTIONS
 * -- COMMAND`, and what it prints.
 */
static bool run_by_env(struct recording *r, const char *command, const char *count, int status)
{
	const char *arguments[] = { "env", "-i",     "1k",    "--dir", r->directory,
		                    "--",  helper(), command, count,   NULL };
	struct child child;
	bool ok = CHECK(recording_geiger(r, arguments, 60)) &&
	          CHECK_EQ_I64(r->child.exit_status, 0);

	if (ok) {
		const char *argv[] = { "sh", "-c", gg_buf_text(&r->child.out), NULL };

		ok = CHECK(child_run(&child, argv, NULL, 60)) &&
		     CHECK_EQ_I64(child.exit_status, status);
		CHECK(child.err.length == 0 || status != 0); /* a shell tells of signals */
		child_done(&child);
	}
	return ok;
}

static bool geiger(struct recording *r, const char *a, const char *b, const char *c, const char *d)
{
	return CHECK(recording_geiger(r, (const char *const[]){ a, b, c, d, NULL }, 60));
}

TEST(a_region_that_nobody_recorded_becomes_a_profile)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "killed", "3000", 128 + SIGKILL)) {
		CHECK(geiger(&r, "salvage", "-o", r.path, r.directory));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.err));
		CHECK_EQ_DOUBLE(recording_number(&r, "select has_history from session"), 0);
		CHECK_CONTAINS(recording_text(&r, "select command from session"), " killed 3000");
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
		/* 3000 x 777 bytes / 1 KiB: 1592 +- 27 sampled blocks. */
		double allocated = recording_number(&r, "select sum(allocated_samples) from total");

		CHECK_MSG(allocated > 1450 && allocated < 1750, "%g", allocated);
		CHECK(recording_number(&r, "select sum(samples) from coarse") > 1400);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from module where path like "
		                                     "'%record_program'"),
		                1);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from frame where module is null"), 0);
		CHECK_EQ_DOUBLE(recording_number(&r,
		                                 "select count(*) from v_function where function = "
		                                 "'main'"),
		                1);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

/* Returns the pid in the name of the only region there; 0: there is no region. */
static long pid_of_region(const char *directory)
{
	DIR *listing = opendir(directory);
	struct dirent *entry;
	long pid = 0;

	while (listing != NULL && pid == 0 && (entry = readdir(listing)) != NULL)
		if (strncmp(entry->d_name, "geiger-", 7) == 0)
			pid = strtol(entry->d_name + 7, NULL, 10);
	if (listing != NULL)
		closedir(listing);
	return pid;
}

/* As if the recorder of a session was killed: PyPy's lines lie beside the region. */
TEST(what_a_garbage_collector_did_is_salvaged_and_merged)
{
	struct recording r;
	char path[160], merged[160], text[30];
	long pid;
	FILE *file;

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "killed", "3000", 128 + SIGKILL)) {
		pid = pid_of_region(r.directory);
		snprintf(path, sizeof(path), "%s/collections-%ld", r.directory, pid);
		snprintf(merged, sizeof(merged), "%s/merged.geiger", r.directory);
		file = fopen(path, "w");
		if (CHECK(pid > 0 && file != NULL)) {
			fprintf(file, "%" PRIu64 " 17 2 1 4000 3000 5 6000 7 8\n",
			        gg_clock_monotonic_ns());
			/* After an uptime of over 52 days times are above 2^52. */
			fprintf(file, "%" PRIu64 " 0 0 0 0 0 5 6000 7 8\n",
			        gg_clock_monotonic_ns() + (UINT64_C(1) << 53));
			fclose(file);
		}
		CHECK(geiger(&r, "salvage", "-o", r.path, r.directory));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.err));
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from event where kind = "
		                                     "'collections' and process = 1"),
		                2);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from event join session "
		                                     "where time_ns > session.end_ns"),
		                0);
		CHECK(geiger(&r, "check", r.path, NULL, NULL));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.out));
		CHECK(geiger(&r, "timeline", r.path, NULL, NULL));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "17 minor and 1 major collections");

		CHECK(recording_geiger(
			&r,
			(const char *const[]){ "merge", "-q", "-o", merged, r.path, r.path, NULL },
			60));
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK(geiger(&r, "check", merged, NULL, NULL));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.out));
		CHECK(geiger(&r, "timeline", merged, NULL, NULL));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "17 minor and 1 major collections");
		CHECK(strstr(gg_buf_text(&r.child.out), "live heap over") == NULL);
		/* Its memory is in the sum, so nothing is known of it alone. */
		snprintf(text, sizeof(text), "%ld", pid);
		CHECK(geiger(&r, "timeline", merged, "--process", text));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "17 minor and 1 major collections");
		CHECK(geiger(&r, "report", merged, "--process", text));
		CHECK_EQ_I64(r.child.exit_status, 2);
		CHECK_CONTAINS(gg_buf_text(&r.child.err), " is a part of a sum");
		CHECK(geiger(&r, "timeline", "--json", merged, NULL));
		CHECK_CONTAINS(gg_buf_text(&r.child.out),
		               "\"points\":[],\"collections\":[{\"pid\":");
	}
	recording_end(&r);
}

/* Writes a line of a collector with that many minor collections. */
static void write_line(const char *directory, const char *name, uint64_t time_ns, int minor_count)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "a");
	if (CHECK(file != NULL)) {
		fprintf(file, "%" PRIu64 " %d 2 1 4000 3000 5 6000 7 8\n", time_ns, minor_count);
		fclose(file);
	}
}

/* Copies the only region of a directory into another one, as of a process that began elsewhen. */
static struct gg_region_header copy_region(const char *from, const char *to, int64_t monotonic_ns,
                                           int64_t wall_ns)
{
	static unsigned number;
	struct gg_region_header header = { 0 };
	char command[400], path[200];
	const char *argv[] = { "sh", "-c", command, NULL };
	struct child child;
	int fd;

	snprintf(path, sizeof(path), "%s/geiger-1-%u.region", to, ++number);
	snprintf(command, sizeof(command), "mkdir -p %s && cp %s/geiger-*.region %s", to, from,
	         path);
	REQUIRE(child_run(&child, argv, NULL, 60) && child.exit_status == 0);
	child_done(&child);
	fd = open(path, O_RDWR);
	REQUIRE(fd >= 0);
	CHECK(pread(fd, &header, sizeof(header), 0) == sizeof(header));
	header.start_monotonic_ns += (uint64_t)monotonic_ns;
	header.start_wall_ns += (uint64_t)wall_ns;
	CHECK(pwrite(fd, &header, sizeof(header), 0) == sizeof(header));
	close(fd);
	return header;
}

/* The minor collections of a process of the profile; -1: none were reported. */
static double minor_of(struct recording *r, int process)
{
	char query[200];

	snprintf(
		query, sizeof(query),
		"select coalesce(sum(json_extract(detail, '$.minor')), -1) from event where kind = "
		"'collections' and process = %d",
		process);
	return recording_number(r, query);
}

/*
 * Containers have the same pids, and regions of an earlier boot another clock.  So a line belongs
 * to the process of its own directory.
 */
TEST(collections_of_processes_with_one_pid_are_not_mixed_up)
{
	const int64_t second = INT64_C(1000000000);
	char first[140], second_one[140], earlier[140], name[60], path[200];
	struct gg_region_header a, b, c;
	struct recording r;

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "killed", "300", 128 + SIGKILL)) {
		snprintf(first, sizeof(first), "%s/first", r.directory);
		snprintf(second_one, sizeof(second_one), "%s/second", r.directory);
		snprintf(earlier, sizeof(earlier), "%s/earlier", r.directory);
		a = copy_region(r.directory, first, -90 * second, -90 * second);
		b = copy_region(r.directory, second_one, -89 * second, -89 * second);
		c = copy_region(r.directory, earlier, -80 * second, -86400 * second);
		snprintf(name, sizeof(name), "collections-%" PRIu32, a.pid);
		write_line(first, name, b.start_monotonic_ns + 1, 17);
		write_line(earlier, name, c.start_monotonic_ns + 1, 11);
		/* That of the file's other owner is left out; so is one of other ticks. */
		snprintf(name, sizeof(name), "collections-%" PRIu32 "-%" PRIu64, a.pid,
		         a.process_start_ticks);
		write_line(second_one, name, b.start_monotonic_ns + 2, 19);
		snprintf(name, sizeof(name), "collections-%" PRIu32 "-%" PRIu64, a.pid,
		         a.process_start_ticks + 1);
		write_line(second_one, name, b.start_monotonic_ns + 3, 100);
		snprintf(name, sizeof(name), "collections-%" PRIu32 "-0", a.pid);
		snprintf(path, sizeof(path), "%s/%s", second_one, name);
		if (geteuid() == 0) {
			write_line(second_one, name, b.start_monotonic_ns + 4, 1000);
			CHECK(chown(path, 65534, 65534) == 0);
		}
		/* A line of the time before the process began. */
		snprintf(name, sizeof(name), "collections-%" PRIu32 "-00", a.pid);
		write_line(second_one, name, b.start_monotonic_ns - 1, 10000);
		CHECK(recording_geiger(&r,
		                       (const char *const[]){ "salvage", "-q", "-o", r.path, first,
		                                              second_one, earlier, NULL },
		                       60));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.err));
		/* They are in the order of their starts. */
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(distinct pid) from process"), 1);
		CHECK_EQ_DOUBLE(minor_of(&r, 1), 11);
		CHECK_EQ_DOUBLE(minor_of(&r, 2), 17);
		CHECK_EQ_DOUBLE(minor_of(&r, 3), 19);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from event, process where "
		                                     "kind = 'collections' and event.process = "
		                                     "process.id and time_ns < start_ns"),
		                0);
		CHECK_EQ_DOUBLE(recording_number(&r, "select min(time_ns) from event where kind = "
		                                     "'collections'"),
		                1);
		CHECK(geiger(&r, "check", r.path, NULL, NULL));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.out));
	}
	recording_end(&r);
}

/* Two containers that started at once: the number in the name is that of the region. */
TEST(collections_of_processes_with_one_pid_and_start_are_told_apart_by_their_regions)
{
	struct recording r;
	struct gg_region_header a, b;
	char both[140], name[100];

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "killed", "300", 128 + SIGKILL)) {
		snprintf(both, sizeof(both), "%s/both", r.directory);
		a = copy_region(r.directory, both, -1000, -1000);
		b = copy_region(r.directory, both, 0, 0);
		for (int i = 0; i < 2; i++) {
			snprintf(name, sizeof(name), "collections-%" PRIu32 "-%" PRIu64 "-%" PRIu64,
			         a.pid, a.process_start_ticks,
			         (i == 0 ? a : b).start_monotonic_ns - 10);
			write_line(both, name, b.start_monotonic_ns + 1, i == 0 ? 17 : 19);
		}
		CHECK(geiger(&r, "salvage", "-o", r.path, both));
		CHECK_EQ_DOUBLE(minor_of(&r, 1), 17);
		CHECK_EQ_DOUBLE(minor_of(&r, 2), 19);
	}
	recording_end(&r);
}

/* An older copy: the region of a shorter run, with the start and the pid of a longer one. */
TEST(the_latest_state_of_a_process_counts_in_any_order)
{
	struct recording r, shorter;
	char old[140], whole[140], command[400];
	const char *copy[] = { "sh", "-c", command, NULL };
	struct gg_region_header header;
	struct child child;
	int fd;

	REQUIRE(recording_begin(&r) && recording_begin(&shorter));
	if (run_by_env(&r, "killed", "3000", 128 + SIGKILL) &&
	    run_by_env(&shorter, "killed", "300", 128 + SIGKILL)) {
		snprintf(whole, sizeof(whole), "%s/whole", r.directory);
		snprintf(old, sizeof(old), "%s/old.region", r.directory);
		header = copy_region(r.directory, whole, 0, 0);
		snprintf(command, sizeof(command), "mv %s/geiger-*.region %s", shorter.directory,
		         old);
		REQUIRE(child_run(&child, copy, NULL, 60) && child.exit_status == 0);
		child_done(&child);
		fd = open(old, O_RDWR);
		CHECK(fd >= 0);
		for (size_t i = 0; i < 3; i++) {
			const size_t parts[3][2] = {
				{ offsetof(struct gg_region_header, start_monotonic_ns), 8 },
				{ offsetof(struct gg_region_header, start_wall_ns), 8 },
				{ offsetof(struct gg_region_header, pid), 4 },
			};

			CHECK(pwrite(fd, (char *)&header + parts[i][0], parts[i][1],
			             (off_t)parts[i][0]) == (ssize_t)parts[i][1]);
		}
		close(fd);
		for (int i = 0; i < 2; i++) {
			const char *const argv[] = {
				"salvage", "-o", r.path, i == 0 ? old : whole, i == 0 ? whole : old,
				NULL
			};

			CHECK(recording_geiger(&r, argv, 60));
			CHECK_CONTAINS(gg_buf_text(&r.child.err), "geiger: 1 file was left out: ");
			CHECK(recording_number(&r, "select sum(allocated_samples) from total") >
			      1450);
		}
	}
	recording_end(&shorter);
	recording_end(&r);
}

/* The same file by other paths, a copy of it, and what a collector wrote beside it. */
TEST(a_process_whose_region_is_given_several_times_counts_once)
{
	struct recording r;
	struct gg_region_header header;
	char again[140], copy[140], name[60];
	double allocated;

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "killed", "3000", 128 + SIGKILL)) {
		CHECK(geiger(&r, "salvage", "-o", r.path, r.directory));
		allocated = recording_number(&r, "select sum(allocated_samples) from total");
		CHECK(allocated > 1450);
		snprintf(again, sizeof(again), "%s/./", r.directory);
		snprintf(copy, sizeof(copy), "%s/copy", r.directory);
		header = copy_region(r.directory, copy, 0, 0);
		snprintf(name, sizeof(name), "collections-%" PRIu32, header.pid);
		write_line(r.directory, name, header.start_monotonic_ns + 1, 17);
		CHECK(recording_geiger(&r,
		                       (const char *const[]){ "salvage", "-o", r.path, r.directory,
		                                              again, copy, NULL },
		                       60));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.err));
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "geiger: 2 files were left out: ");
		CHECK_CONTAINS(gg_buf_text(&r.child.err),
		               "of 1 region, and what was freed as sums");
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
		CHECK_EQ_DOUBLE(recording_number(&r, "select sum(allocated_samples) from total"),
		                allocated);
		CHECK_EQ_DOUBLE(minor_of(&r, 1), 17);
	}
	recording_end(&r);
}

/* Its last thread started after the last sample that is still live, and only the region knows. */
TEST(a_thread_that_starts_last_does_not_contradict_the_end_of_a_killed_process)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "killed-child", "1000", 0)) {
		CHECK(geiger(&r, "salvage", "-o", r.path, r.directory));
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 2);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from thread where process = 2"), 2);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from thread where end_ns < start_ns"),
			0);
		CHECK(geiger(&r, "check", r.path, NULL, NULL));
		CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.out));
	}
	recording_end(&r);
}

TEST(regions_of_a_family_become_one_profile_with_its_parents)
{
	struct recording r;

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "fork", "500", 0)) {
		CHECK(geiger(&r, "salvage", "-o", r.path, r.directory));
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 4);
		CHECK(recording_number(&r, "select count(*) from process where parent = 1") >= 2);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note where text like "
		                                     "'%may be inherited%'"),
		                0);
		CHECK(recording_adds_up(&r));
	}
	recording_end(&r);
}

TEST(regions_are_listed_and_dead_ones_removed)
{
	struct recording r;
	char text[128], link[128], fake[128];
	struct stat status;

	if (CHECK(recording_begin(&r)) && run_by_env(&r, "allocate", "3000", 0)) {
		CHECK(geiger(&r, "ls", r.directory, NULL, NULL));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "dead");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), r.directory);

		/* These only look like regions: a text, and links to a file and a directory. */
		snprintf(text, sizeof(text), "%s/geiger-1-1.region", r.directory);
		int fd = open(text, O_WRONLY | O_CREAT | O_EXCL, 0600);

		CHECK(fd >= 0 && write(fd, "precious\n", 9) == 9);
		close(fd);
		snprintf(link, sizeof(link), "%s/geiger-1-2.region", r.directory);
		CHECK_EQ_I64(symlink(text, link), 0);
		snprintf(fake, sizeof(fake), "%s/geiger-session-1-abcdef", r.directory);
		CHECK_EQ_I64(symlink("/tmp", fake), 0);

		CHECK(geiger(&r, "clean", "--older-than", "1h", r.directory));
		CHECK(strstr(gg_buf_text(&r.child.out), r.directory) == NULL);
		CHECK(geiger(&r, "clean", r.directory, NULL, NULL)); /* nothing is a day old */
		CHECK(strstr(gg_buf_text(&r.child.out), r.directory) == NULL);
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "1 region ended only recently; --all");
		CHECK(geiger(&r, "clean", "--all", "--dry-run", r.directory));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), r.directory);
		CHECK(geiger(&r, "ls", r.directory, NULL, NULL));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "not a region");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "dead");
		CHECK(geiger(&r, "clean", "--all", r.directory, NULL));
		CHECK_EQ_I64(r.child.exit_status, 0);
		CHECK(strstr(gg_buf_text(&r.child.err), "too short ago") == NULL);
		CHECK_CONTAINS(gg_buf_text(&r.child.out), r.directory);
		CHECK(geiger(&r, "ls", r.directory, NULL, NULL));
		CHECK(stat(text, &status) == 0 && status.st_size == 9);
		CHECK(lstat(link, &status) == 0 && lstat(fake, &status) == 0);
		CHECK(geiger(&r, "salvage", "-o", r.path, text));
		CHECK_EQ_I64(r.child.exit_status, 1);
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "is not a region");
	}
	recording_end(&r);
}

/* Some hundred live ones, or a minute. */
static bool wait_for_samples(struct recording *r, pid_t pid)
{
	static const char member[] = "\"samples\":";
	char who[16];

	snprintf(who, sizeof(who), "%d", (int)pid);
	for (int i = 0; i < 600; i++) {
		const char *at = NULL;

		if (geiger(r, "control", who, "status", "--json"))
			at = strstr(gg_buf_text(&r->child.out), member);
		if (at != NULL && strtod(at + strlen(member), NULL) >= 200)
			return true;
		usleep(100000);
	}
	return false;
}

TEST(the_living_are_not_removed_and_can_be_read)
{
	struct recording r;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	CHECK(recording_geiger(&r,
	                       (const char *const[]){ "env", "-i", "1k", "--dir", r.directory, "--",
	                                              "exec", helper(), "slow", "300000", NULL },
	                       20));
	pid = fork();
	if (pid == 0) {
		char script[4096];

		/* The line says "NAME=VALUE exec PROGRAM": the shell becomes it. */
		snprintf(script, sizeof(script), "%s", gg_buf_text(&r.child.out));
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(99);
	}
	char *path = NULL;

	for (int i = 0; i < 600; i++) {
		usleep(50000);
		if (geiger(&r, "ls", r.directory, NULL, NULL) &&
		    strstr(gg_buf_text(&r.child.out), "alive") != NULL)
			break;
	}
	CHECK_CONTAINS(gg_buf_text(&r.child.out), "alive");
	CHECK_MSG(wait_for_samples(&r, pid), "%s", gg_buf_text(&r.child.out));
	CHECK(geiger(&r, "clean", "-a", "-q", r.directory));
	/* As it is, without a salvage: any command that takes a profile. */
	CHECK(geiger(&r, "ls", r.directory, NULL, NULL));
	path = strdup(strstr(gg_buf_text(&r.child.out), r.directory));
	path[strcspn(path, " \n")] = '\0';
	CHECK(geiger(&r, "sql", "--csv", path, "select count(*) from process"));
	CHECK_MSG(strstr(gg_buf_text(&r.child.out), "1") != NULL, "%s", gg_buf_text(&r.child.err));
	CHECK(geiger(&r, "report", path, NULL, NULL));
	CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.err));
	free(path);
	CHECK(geiger(&r, "salvage", "-o", r.path, r.directory));
	CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.err));
	CHECK_EQ_DOUBLE(
		recording_number(&r, "select count(*) from note where text like '%was running%'"),
		1);
	CHECK_EQ_DOUBLE(recording_number(&r, "select end_ns is null from process"), 1);
	CHECK(recording_number(&r, "select count(*) from sample") > 10);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	recording_end(&r);
}

static int count_text(const char *text, const char *part)
{
	int count = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		count++;
	return count;
}

TEST(of_many_runs_the_last_ones_are_listed_and_clean_leaves_an_empty_directory)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	setenv("GEIGER_KEEP", "10", 1);
	for (int i = 0; i < 30; i++)
		run_by_env(&r, "allocate", "10", 0);
	unsetenv("GEIGER_KEEP");
	CHECK(geiger(&r, "ls", r.directory, NULL, NULL));
	/* And the one that was made last. */
	CHECK_MSG(count_text(gg_buf_text(&r.child.out), " dead ") == 11, "%s",
	          gg_buf_text(&r.child.out));
	CHECK(geiger(&r, "clean", "-a", r.directory, NULL));
	CHECK_EQ_I64(count_text(gg_buf_text(&r.child.out), ".region\n"), 11);
	CHECK_EQ_I64(rmdir(r.directory), 0);
	recording_end(&r);
}

static bool exists(const struct recording *r, const char *name)
{
	char path[160];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", r->directory, name);
	return lstat(path, &status) == 0;
}

/*
 * Regions of the directory, by the time when they were made, which is the second number of their
 * names.
 */
static int names_of_regions(const struct recording *r, char names[][64], int capacity)
{
	DIR *listing = opendir(r->directory);
	struct dirent *entry;
	int count = 0;

	while (listing != NULL && (entry = readdir(listing)) != NULL && count < capacity) {
		unsigned long long made, other;
		int at = count;

		if (sscanf(entry->d_name, "geiger-%*u-%llu.region", &made) != 1)
			continue;
		for (; at > 0 && sscanf(names[at - 1], "geiger-%*u-%llu", &other) == 1 &&
		       other > made;
		     at--)
			memcpy(names[at], names[at - 1], 64);
		snprintf(names[at], 64, "%.63s", entry->d_name);
		count++;
	}
	if (listing != NULL)
		closedir(listing);
	return count;
}

TEST(of_each_directory_the_newest_regions_are_kept_on_demand)
{
	struct recording r;
	char before[8][64], after[8][64];

	if (!CHECK(recording_begin(&r)))
		return;
	for (int i = 0; i < 4; i++)
		run_by_env(&r, "allocate", "10", 0);
	CHECK_EQ_I64(names_of_regions(&r, before, 8), 4);
	CHECK(geiger(&r, "clean", "--keep=4", r.directory, NULL));
	CHECK(geiger(&r, "clean", "--keep=3", "--older-than=1h", r.directory));
	CHECK(geiger(&r, "clean", "--keep=2", "-n", r.directory));
	CHECK_EQ_I64(count_text(gg_buf_text(&r.child.out), ".region\n"), 2);
	CHECK_EQ_I64(names_of_regions(&r, after, 8), 4);
	CHECK(geiger(&r, "clean", "--keep=2", r.directory, NULL));
	CHECK_CONTAINS(gg_buf_text(&r.child.err), "removed 2 regions, ");
	CHECK_EQ_I64(names_of_regions(&r, after, 8), 2);
	CHECK(strcmp(after[0], before[2]) == 0 && strcmp(after[1], before[3]) == 0);
	CHECK(geiger(&r, "clean", "--keep=0", r.directory, NULL));
	CHECK_EQ_I64(names_of_regions(&r, after, 8), 0);
	recording_end(&r);
}

/* A profile that was last written to so many seconds ago. */
static bool make_profile(struct recording *r, const char *region, const char *name, int seconds)
{
	char path[160];
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		                     { .tv_sec = time(NULL) - seconds } };

	snprintf(path, sizeof(path), "%s/%s", r->directory, name);
	return geiger(r, "salvage", "-o", path, region) && CHECK_EQ_I64(r->child.exit_status, 0) &&
	       CHECK_EQ_I64(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(of_a_directory_that_is_named_the_newest_profiles_are_kept_on_demand)
{
	struct recording r;
	char names[1][64], path[160];
	static const char *const others[] = { "text.geiger", "copy", "link.geiger" };

	if (!CHECK(recording_begin(&r)) || !run_by_env(&r, "allocate", "10", 0) ||
	    !CHECK_EQ_I64(names_of_regions(&r, names, 1), 1))
		return;
	snprintf(path, sizeof(path), "%s/%s", r.directory, names[0]);
	make_profile(&r, path, "new.geiger", 10);
	make_profile(&r, path, "old.geiger", 3000);
	make_profile(&r, path, "older.geiger", 4000);
	make_profile(&r, path, others[1], 5000);
	/* This file only looks like a profile. */
	snprintf(path, sizeof(path), "%s/%s", r.directory, others[0]);
	FILE *file = fopen(path, "w");

	CHECK(file != NULL && fputs("precious\n", file) >= 0 && fclose(file) == 0);
	snprintf(path, sizeof(path), "%s/%s", r.directory, others[2]);
	CHECK_EQ_I64(symlink("older.geiger", path), 0);

	CHECK(geiger(&r, "clean", "--all", "-n", r.directory)); /* are left alone without --keep */
	CHECK(strstr(gg_buf_text(&r.child.out), ".geiger\n") == NULL);
	CHECK(geiger(&r, "clean", "--keep=3", r.directory, NULL));
	CHECK(exists(&r, "new.geiger") && exists(&r, "old.geiger") && exists(&r, "older.geiger"));
	CHECK(geiger(&r, "clean", "--keep=1", "--older-than=1h", r.directory));
	CHECK_CONTAINS(gg_buf_text(&r.child.err), "removed 0 regions and 1 profile, ");
	CHECK(exists(&r, "old.geiger") && !exists(&r, "older.geiger"));
	CHECK(geiger(&r, "clean", "--keep=1", r.directory, NULL));
	CHECK(exists(&r, "new.geiger") && !exists(&r, "old.geiger"));
	for (size_t i = 0; i < GG_COUNT(others); i++) {
		CHECK_MSG(exists(&r, others[i]), "%s", others[i]);
		snprintf(path, sizeof(path), "%s/%s", r.directory, others[i]);
		unlink(path);
	}
	CHECK(geiger(&r, "clean", "--keep=0", r.directory, NULL));
	CHECK_EQ_I64(rmdir(r.directory), 0);
	recording_end(&r);
}

TEST(other_forms_of_the_environment)
{
	struct recording r;

	if (CHECK(recording_begin(&r))) {
		CHECK(geiger(&r, "env", "--format=systemd", "--dir=/var/a %b", NULL));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "[Service]\nEnvironment=\"LD_PRELOAD=/");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "\"GEIGER_DIR=/var/a %%b\"");
		CHECK(geiger(&r, "env", "--format=docker", NULL, NULL));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "-e GEIGER_DIR=/var/tmp");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), ":ro");
		CHECK(geiger(&r, "env", "--dir", "relative", NULL));
		CHECK_EQ_I64(r.child.exit_status, 2);
		CHECK(geiger(&r, "env", "--interval=0", NULL, NULL));
		CHECK_EQ_I64(r.child.exit_status, 2);
	}
	recording_end(&r);
}

TEST(what_cannot_be_sampled_so_is_refused_by_env_as_by_record)
{
	static const char *const commands[] = { "env", "record" };
	static const char *const wrong[][4] = {
		{ "-i", "0", "--interval: ", "1 to 256TiB" },
		{ "-i", "300TiB", "--interval: ", "1 to 256TiB" },
		{ "--scheme=poisson", "--focus=live", "--focus: ", "Add --scheme optimal" },
	};
	struct recording r;

	if (CHECK(recording_begin(&r)))
		for (size_t i = 0; i < 2 * GG_COUNT(wrong); i++) {
			const char *const *of = wrong[i / 2];
			const char *said;

			CHECK(geiger(&r, commands[i % 2], of[0], of[1], "true"));
			said = gg_buf_text(&r.child.err);
			CHECK_MSG(r.child.exit_status == (i % 2 == 0 ? 2 : 125), "%d",
			          r.child.exit_status);
			CHECK_MSG(strstr(said, of[2]) != NULL && strstr(said, of[3]) != NULL, "%s",
			          said);
		}
	recording_end(&r);
}
