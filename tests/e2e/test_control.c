/* SPDX-License-Identifier: Apache-2.0 */
/* `geiger control` asks, switches and reads programs under the agent while they run. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"
#include "region/layout.h"
#include "test.h"

static const char *helper(void)
{
	return getenv("RECORD_PROGRAM");
}

/* geiger control WHO WORDS...; its exit status. */
static int control(struct recording *r, const char *who, const char *verb, const char *operand,
                   const char *option)
{
	const char *arguments[] = { "control",
		                    who,
		                    verb,
		                    operand != NULL ? operand : option,
		                    operand != NULL ? option : NULL,
		                    NULL };

	return recording_geiger(r, arguments, 60) ? r->child.exit_status : -1;
}

/* A member of the status as JSON; -1 if the status lacks it. */
static double status_of(struct recording *r, const char *who, const char *member)
{
	char name[64];
	const char *at;

	if (control(r, who, "status", NULL, "--json") != 0)
		return -1;
	snprintf(name, sizeof(name), "\"%s\":", member);
	at = strstr(gg_buf_text(&r->child.out), name);
	return at != NULL ? strtod(at + strlen(name), NULL) : -1;
}

/* Runs a command of the shell in a process of its own, which it is to become. */
static pid_t start(const char *script)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(99);
	}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool wait_for_samples(struct recording *r, const char *who, double least)
{
	for (int i = 0; i < 600; i++) {
		if (status_of(r, who, "samples") >= least)
			return true;
		usleep(50000);
	}
	return false;
}

/* Under the agent, at 1 KiB, in the test's directory: `words` as the shell has them. */
static pid_t start_profiled(struct recording *r, const char *words, char who[16])
{
	char script[8192];
	pid_t pid;

	CHECK(recording_geiger(
		r, (const char *const[]){ "env", "-i", "1k", "--dir", r->directory, NULL }, 60));
	setenv("GEIGER_DIR", r->directory, 1);
	snprintf(script, sizeof(script), "exec env %.*s %s",
	         (int)strcspn(gg_buf_text(&r->child.out), "\n"), gg_buf_text(&r->child.out), words);
	pid = start(script);
	snprintf(who, 16, "%d", (int)pid);
	return pid;
}

static pid_t start_slow(struct recording *r, char who[16])
{
	char words[4096];
	pid_t pid;

	snprintf(words, sizeof(words), "%s slow 300000", helper());
	pid = start_profiled(r, words, who);
	CHECK(wait_for_samples(r, who, 100));
	return pid;
}

static bool says(struct recording *r, const char *text)
{
	return CHECK_MSG(strstr(gg_buf_text(&r->child.out), text) != NULL ||
	                         strstr(gg_buf_text(&r->child.err), text) != NULL,
	                 "no '%s' in: %s%s", text, gg_buf_text(&r->child.out),
	                 gg_buf_text(&r->child.err));
}

TEST(the_status_tells_what_a_running_process_holds)
{
	struct recording r;
	char who[16];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
	says(&r, ", alive\n");
	says(&r, " slow 300000\n");
	says(&r, "sampling     on, interval 1 KiB\n");
	says(&r, "\nlive         ");
	says(&r, r.directory);
	CHECK(strstr(gg_buf_text(&r.child.out), "dropped") == NULL);
	CHECK_EQ_DOUBLE(status_of(&r, who, "pid"), (double)pid);
	says(&r, "\"alive\":true");
	says(&r, "\"sampling\":true");
	/* Half of its blocks of 1000 bytes stay. */
	double low = status_of(&r, who, "low"), high = status_of(&r, who, "high");

	CHECK(low > 10e3 && high > low && status_of(&r, who, "age_seconds") > 0);
	stop(pid);
	recording_end(&r);
}

/* True once the number of samples stays as it is for half a second. */
static bool settles(struct recording *r, const char *who, double *ret_samples)
{
	for (int i = 0; i < 60; i++) {
		double before = status_of(r, who, "samples");

		usleep(500000);
		*ret_samples = status_of(r, who, "samples");
		if (before >= 0 && before == *ret_samples)
			return true;
	}
	return false;
}

TEST(sampling_pauses_and_goes_on_as_asked)
{
	struct recording r;
	double samples = 0;
	char who[16];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	CHECK_EQ_I64(control(&r, who, "off", NULL, NULL), 0);
	says(&r, "for sampling off; each thread follows when it looks next");
	CHECK(settles(&r, who, &samples));
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
	says(&r, "sampling     off, interval 1 KiB\n");
	CHECK(control(&r, who, "on", NULL, "--quiet") == 0 && r.child.err.length == 0);
	CHECK(wait_for_samples(&r, who, samples + 50));
	stop(pid);
	recording_end(&r);
}

/* Lets the program allocate one more batch: writes a byte, and waits for the program's own byte. */
static void ask_for_batch(const char *path)
{
	struct stat file = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	off_t size;

	CHECK(fd >= 0 && fstat(fd, &file) == 0 && write(fd, "-", 1) == 1 && close(fd) == 0);
	size = file.st_size + 2;
	for (int i = 0; i < 6000 && stat(path, &file) == 0 && file.st_size < size; i++)
		usleep(10000);
	CHECK_EQ_I64(file.st_size, size);
}

/*
 * A batch has 100 blocks of 1000 bytes.  At an interval of 1 a thread that samples nothing looks
 * for new settings after 4 KiB, so the switch hides five blocks at most.
 */
TEST(a_switch_hides_no_more_than_a_few_blocks)
{
	char who[16], path[512], words[8192];
	struct recording r;
	double before, all;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(path, sizeof(path), "%s.asked", r.path);
	snprintf(words, sizeof(words), "GEIGER_INTERVAL=1 %s asked 100 %s", helper(), path);
	pid = start_profiled(&r, words, who);
	ask_for_batch(path);
	all = status_of(&r, who, "samples");
	CHECK(all >= 100 && status_of(&r, who, "high") > 0);
	CHECK_EQ_I64(control(&r, who, "off", NULL, "--quiet"), 0);
	ask_for_batch(path);
	ask_for_batch(path);
	before = status_of(&r, who, "samples");
	CHECK_MSG(before - all <= 5, "%g after %g", before, all);
	CHECK_EQ_I64(control(&r, who, "on", NULL, "--quiet"), 0);
	ask_for_batch(path);
	all = status_of(&r, who, "samples");
	CHECK_MSG(all - before >= 95, "%g after %g", all, before);
	/* Nobody knows how much of what was allocated in between is live. */
	CHECK_EQ_I64(control(&r, who, "status", NULL, "--json"), 0);
	says(&r, "\"high\":null");
	stop(pid);
	unlink(path);
	recording_end(&r);
}

/* Nobody counted what it allocated before, not even as dropped samples. */
TEST(a_process_that_began_switched_off_has_no_upper_end)
{
	char who[16], path[512], words[8192];
	struct recording r;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(path, sizeof(path), "%s.asked", r.path);
	snprintf(words, sizeof(words), "GEIGER_ACTIVE=0 GEIGER_INTERVAL=1000 %s asked 100 %s",
	         helper(), path);
	pid = start_profiled(&r, words, who);
	ask_for_batch(path);
	CHECK_EQ_I64(control(&r, who, "on", NULL, "--quiet"), 0);
	ask_for_batch(path);
	CHECK(status_of(&r, who, "samples") > 20);
	CHECK_EQ_I64(control(&r, who, "status", NULL, "--json"), 0);
	says(&r, "\"high\":null");
	CHECK_EQ_I64(control(&r, who, "snapshot", r.path, "--quiet"), 0);
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from event where kind = 'off'"), 1);
	stop(pid);
	unlink(path);
	recording_end(&r);
}

TEST(another_sampling_interval_is_used_from_then_on)
{
	struct recording r;
	bool found = false;
	char who[16];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	CHECK_EQ_I64(control(&r, who, "interval", "4KiB", NULL), 0);
	says(&r, "a sampling interval of 4 KiB");
	CHECK_EQ_DOUBLE(status_of(&r, who, "interval_bytes"), 4096);
	for (int i = 0; i < 100 && !found; i++) {
		CHECK_EQ_I64(control(&r, who, "snapshot", r.path, "--quiet"), 0);
		found = recording_number(&r, "select count(*) from sample where interval = 4096") >
		        0;
	}
	CHECK(found);
	CHECK(recording_number(&r, "select count(*) from sample where interval = 1024") > 50);
	CHECK_EQ_DOUBLE(recording_number(&r, "select interval from process"), 4096);
	/* Blocks without a sample may be older than this change, so 100 is not the answer. */
	CHECK_EQ_I64(control(&r, who, "interval", "100", NULL), 0);
	CHECK_EQ_I64(control(&r, who, "snapshot", r.path, "--quiet"), 0);
	CHECK_EQ_DOUBLE(recording_number(&r, "select interval from process"), 4096);
	CHECK_EQ_I64(control(&r, who, "interval", "4k", NULL), 0);
	/* On or off is as it was. */
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
	says(&r, "sampling     on, interval 4 KiB\n");
	stop(pid);
	recording_end(&r);
}

TEST(a_share_of_processor_time_holds_until_an_interval_is_set)
{
	struct recording r;
	char who[16];
	double asked;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	CHECK_EQ_I64(control(&r, who, "overhead", "2.5%", NULL), 0);
	says(&r, "an overhead of 2.5%; each thread follows");
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
	says(&r, "\noverhead     2.5% asked for");
	asked = status_of(&r, who, "asked");
	CHECK_EQ_DOUBLE(asked, 0.025);
	/* Off and on leave it. */
	CHECK_EQ_I64(control(&r, who, "off", NULL, NULL), 0);
	CHECK_EQ_I64(control(&r, who, "on", NULL, NULL), 0);
	CHECK_EQ_DOUBLE(status_of(&r, who, "asked"), 0.025);
	CHECK_EQ_I64(control(&r, who, "interval", "4k", NULL), 0);
	CHECK_EQ_DOUBLE(status_of(&r, who, "asked"), -1);
	CHECK_EQ_DOUBLE(status_of(&r, who, "interval_bytes"), 4096);
	stop(pid);
	recording_end(&r);
}

TEST(a_recording_tells_its_overhead)
{
	struct recording r;
	char program[4096];

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(program, sizeof(program), "%s", helper());
	CHECK(recording_geiger(&r,
	                       (const char *const[]){ "record", "--overhead", "5%", "-o", r.path,
	                                              "--", program, "churn", "20000000", NULL },
	                       120));
	CHECK_EQ_I64(r.child.exit_status, 0);
	CHECK(recording_number(&r, "select count(*) from counter where name = 'ns of samples'") ==
	      1);
	CHECK(recording_geiger(&r, (const char *const[]){ "report", r.path, NULL }, 60));
	says(&r, "\noverhead ");
	says(&r, ", 5 % asked for: samples ");
	/* It refuses what it cannot follow, before it runs anything. */
	CHECK(recording_geiger(
		&r, (const char *const[]){ "record", "--overhead", "5", "--", "false", NULL }, 60));
	CHECK_EQ_I64(r.child.exit_status, 125);
	says(&r, "'5' is not a share");
	CHECK(recording_geiger(&r,
	                       (const char *const[]){ "record", "--overhead", "5%", "--scheme",
	                                              "optimal", "--", "false", NULL },
	                       60));
	CHECK_EQ_I64(r.child.exit_status, 125);
	says(&r, "cannot follow it");
	recording_end(&r);
}

TEST(a_snapshot_is_a_whole_profile_and_the_process_goes_on)
{
	struct recording r;
	double samples;
	char who[16];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	samples = status_of(&r, who, "samples");
	CHECK_EQ_I64(control(&r, who, "snapshot", r.path, NULL), 0);
	says(&r, "live samples, and what was freed as sums");
	CHECK(recording_number(&r, "select sum(allocated_samples) from total") >= samples);
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note where text like "
	                                     "'%was running when its region was read%'"),
	                1);
	CHECK(recording_geiger(&r, (const char *const[]){ "check", r.path, NULL }, 60) &&
	      r.child.exit_status == 0);
	CHECK(wait_for_samples(&r, who, samples + 100));
	CHECK_EQ_I64(control(&r, who, "snapshot", "/nonexistent/x.geiger", NULL), 1);
	stop(pid);
	recording_end(&r);
}

/* The path of the one region in the test's directory. */
static bool find_region(struct recording *r, char path[256])
{
	const char *at, *end;

	if (!recording_geiger(r, (const char *const[]){ "ls", r->directory, NULL }, 60))
		return false;
	at = strstr(gg_buf_text(&r->child.out), r->directory);
	end = at != NULL ? strstr(at, ".region") : NULL;
	if (end == NULL)
		return false;
	snprintf(path, 256, "%.*s", (int)(end + 7 - at), at);
	return true;
}

TEST(of_a_process_that_executed_another_program_the_new_region_counts)
{
	struct recording r;
	char who[16], words[4096], go_path[128];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(words, sizeof(words), "sh -c 'exec %s slow 300000'", helper());
	pid = start_profiled(&r, words, who);
	CHECK(wait_for_samples(&r, who, 100));
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
	says(&r, "record_program slow 300000\n");
	stop(pid);

	/* It leaves the agent behind, when there is that file: its old region is nobody's. */
	snprintf(go_path, sizeof(go_path), "%s/go", r.directory);
	snprintf(words, sizeof(words),
	         "sh -c 'until test -e %s; do sleep 0.1; done; unset LD_PRELOAD; exec sleep 120'",
	         go_path);
	pid = start_profiled(&r, words, who);
	CHECK(wait_for_samples(&r, who, 0));
	close(open(go_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	for (int i = 0; i < 600 && control(&r, who, "off", NULL, NULL) == 0; i++)
		usleep(50000);
	says(&r, "has executed another program, which runs without the agent");
	stop(pid);
	recording_end(&r);
}

TEST(a_region_in_a_directory_of_its_own_is_found_and_one_that_was_removed_is_told)
{
	struct recording r;
	char who[16], path[256];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	unsetenv("GEIGER_DIR");
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
	says(&r, r.directory);
	if (CHECK(find_region(&r, path))) {
		CHECK_EQ_I64(unlink(path), 0);
		CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 1);
		says(&r, "the file of its region was removed while it runs");
		CHECK_EQ_I64(control(&r, who, "off", NULL, NULL), 1);
	}
	/* It goes on all the same. */
	CHECK_EQ_I64(kill(pid, 0), 0);
	stop(pid);
	recording_end(&r);
}

TEST(another_users_process_is_root_s_to_control)
{
	struct recording r;
	char who[16], script[1024];
	struct child child;
	pid_t pid;

	if (geteuid() != 0 || access("/usr/bin/setpriv", X_OK) < 0)
		SKIP("only root can be two users");
	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	/* A copy of geiger that other users can run. */
	snprintf(script, sizeof(script),
	         "chmod 755 %s; cp $GEIGER %s/geiger; exec setpriv --reuid=65534 --regid=65534 "
	         "--clear-groups %s/geiger control %s off",
	         r.directory, r.directory, r.directory, who);
	if (CHECK(child_run(&child, (const char *const[]){ "sh", "-c", script, NULL }, NULL, 60)))
		CHECK_MSG(child.exit_status == 1 &&
		                  strstr(gg_buf_text(&child.err),
		                         "the process is another user's. Ask as that user, or as "
		                         "root.") != NULL,
		          "%d: %s", child.exit_status, gg_buf_text(&child.err));
	child_done(&child);
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
	says(&r, "sampling     on");
	stop(pid);
	/* And root's geiger controls another user's. */
	/* And with copies of all that it runs: the tree may be in a directory of root's own. */
	snprintf(script, sizeof(script),
	         "cp %s %s/helper; cp \"$(dirname \"$GEIGER\")/libgeiger-agent.so\" %s; "
	         "chmod 755 %s/helper %s/libgeiger-agent.so; "
	         "export GEIGER_INTERVAL=1k GEIGER_DIR=%s LD_PRELOAD=%s/libgeiger-agent.so; "
	         "exec setpriv --reuid=65534 --regid=65534 --clear-groups %s/helper slow 300000",
	         helper(), r.directory, r.directory, r.directory, r.directory, r.directory,
	         r.directory, r.directory);
	CHECK_EQ_I64(chmod(r.directory, 01777), 0);
	pid = start(script);
	snprintf(who, sizeof(who), "%d", (int)pid);
	if (CHECK(wait_for_samples(&r, who, 100))) {
		CHECK_EQ_I64(control(&r, who, "off", NULL, NULL), 0);
		CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 0);
		says(&r, "sampling     off");
	}
	stop(pid);
	recording_end(&r);
}

TEST(a_region_is_asked_by_its_path_as_well)
{
	struct recording r;
	char who[16], path[256];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	if (CHECK(find_region(&r, path))) {
		CHECK_EQ_I64(control(&r, path, "off", NULL, NULL), 0);
		CHECK_EQ_I64(control(&r, path, "status", NULL, NULL), 0);
		says(&r, "sampling     off");
		stop(pid);
		CHECK_EQ_I64(control(&r, path, "status", NULL, NULL), 0);
		says(&r, ", dead\n");
		CHECK_EQ_I64(control(&r, path, "on", NULL, NULL), 1);
		says(&r, "its process is gone");
		CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 1);
		says(&r, "there is no such process");
	} else {
		stop(pid);
	}
	recording_end(&r);
}

TEST(what_is_no_region_of_ours_is_refused_and_left_as_it_is)
{
	struct recording r;
	char who[16], path[256], link_path[256], copy[256], bytes[8192] = "precious";
	struct stat status;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_slow(&r, who);
	snprintf(link_path, sizeof(link_path), "%s/link", r.directory);
	snprintf(copy, sizeof(copy), "%s/copy", r.directory);
	if (CHECK(find_region(&r, path))) {
		CHECK_EQ_I64(symlink(path, link_path), 0);
		CHECK_EQ_I64(control(&r, link_path, "off", NULL, NULL), 1);
		unlink(link_path);
		/* A second name may be somebody's trick to have root write it. */
		CHECK_EQ_I64(link(path, link_path), 0);
		CHECK_EQ_I64(control(&r, link_path, "off", NULL, NULL), 1);
		says(&r, "is not a region");
		unlink(link_path);
		CHECK_EQ_I64(control(&r, path, "status", NULL, NULL), 0);
		says(&r, "sampling     on");

		int fd = open(copy, O_RDWR | O_CREAT, 0600), from = open(path, O_RDONLY);

		CHECK_EQ_U64(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
		CHECK_EQ_I64(control(&r, copy, "off", NULL, NULL), 1);
		says(&r, "is not a region");
		/* A header alone claims more than the file has. */
		CHECK_EQ_U64(pread(from, bytes, sizeof(bytes), 0), sizeof(bytes));
		CHECK_EQ_U64(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
		CHECK_EQ_I64(control(&r, copy, "off", NULL, NULL), 1);
		CHECK(fstat(fd, &status) == 0 && status.st_size == sizeof(bytes));
		CHECK(pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
		      ((struct gg_region_header *)(void *)bytes)->control.change_count == 1);
		close(fd);
		close(from);
	}
	stop(pid);
	recording_end(&r);
}

TEST(what_cannot_be_meant_is_told)
{
	struct recording r;
	char who[16];

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(who, sizeof(who), "%d", (int)getpid());
	CHECK_EQ_I64(control(&r, who, "stop", NULL, NULL), 2);
	says(&r, "There are: on, off, interval, overhead, error, snapshot, status.");
	CHECK_EQ_I64(control(&r, who, "interval", NULL, NULL), 2);
	CHECK_EQ_I64(control(&r, who, "interval", "much", NULL), 2);
	CHECK_EQ_I64(control(&r, who, "interval", "0", NULL), 2);
	CHECK_EQ_I64(control(&r, who, "interval", "512TiB", NULL), 2);
	CHECK_EQ_I64(control(&r, who, "overhead", NULL, NULL), 2);
	CHECK_EQ_I64(control(&r, who, "overhead", "0.5", NULL), 2);
	CHECK_EQ_I64(control(&r, who, "overhead", "0%", NULL), 2);
	says(&r, "Give 0.01% to 100%, such as 0.5%.");
	CHECK_EQ_I64(control(&r, who, "snapshot", NULL, NULL), 2);
	CHECK_EQ_I64(control(&r, who, "on", "now", NULL), 2);
	CHECK_EQ_I64(control(&r, "0", "on", NULL, NULL), 2);
	CHECK_EQ_I64(control(&r, "status", who, NULL, NULL), 2);
	says(&r, "the process comes first: geiger control ");
	CHECK_EQ_I64(control(&r, "firefox", "status", NULL, NULL), 1);
	says(&r, "neither the id of a process nor a file");
	CHECK_EQ_I64(control(&r, "99999999999", "on", NULL, NULL), 2);
	CHECK(recording_geiger(&r, (const char *const[]){ "control", who, NULL }, 60) &&
	      r.child.exit_status == 2);
	CHECK_EQ_I64(control(&r, who, "status", NULL, NULL), 1);
	says(&r, "the process has no region");
	recording_end(&r);
}

TEST(a_recorder_notes_what_was_asked_of_its_process)
{
	struct recording r;
	char who[16], script[8192];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	unsetenv("GEIGER_DIR");
	snprintf(script, sizeof(script), "exec %s record -q -o %s -i 1k -- %s slow 300000",
	         getenv("GEIGER"), r.path, helper());
	pid = start(script);
	if (CHECK(recording_wait_for(&r, "select count(*) from sample", 100, 60))) {
		snprintf(who, sizeof(who), "%.0f", recording_number(&r, "select pid from process"));
		CHECK_EQ_I64(control(&r, who, "interval", "8k", NULL), 0);
		CHECK(recording_wait_for(
			&r,
			"select count(*) from event where kind = 'interval' and process = 1 "
			"and detail like '%from 1024 to 8192'",
			1, 60));
		CHECK(recording_wait_for(&r, "select interval from process", 8192, 60));
		CHECK_EQ_I64(control(&r, who, "off", NULL, NULL), 0);
		CHECK(recording_wait_for(&r, "select count(*) from event where kind = 'off'", 1,
		                         60));
		CHECK_EQ_I64(control(&r, who, "on", NULL, NULL), 0);
		CHECK(recording_wait_for(&r, "select count(*) from event where kind = 'on'", 1,
		                         60));
		kill((pid_t)atoi(who), SIGKILL);
		waitpid(pid, NULL, 0);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from event where kind in "
		                                     "('on', 'off', 'interval')"),
		                3);
	} else {
		stop(pid);
	}
	recording_end(&r);
}
