/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose every allocation is a sample is killed at random moments; each region that it
 * leaves reads back, and its totals are its live samples to the last bit.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "region/view.h"
#include "stats/rng.h"
#include "test.h"

static char directory[] = "/dev/shm/geiger-test-XXXXXX";

__attribute__((constructor(101))) static void make_directory(void)
{
	if (mkdtemp(directory) == NULL)
		exit(1);
	setenv("GEIGER_DIR", directory, 1);
	setenv("GEIGER_INTERVAL", "1", 1);
}

__attribute__((destructor)) static void remove_directory(void)
{
	rmdir(directory);
}

/* Starts the program and kills it after that time. */
static bool kill_after(long ns)
{
	const struct timespec time = { 0, ns };
	int status;
	pid_t child = fork();

	if (child == 0) {
		setenv("LD_PRELOAD", getenv("GEIGER_AGENT"), 1);
		execl(getenv("TWIN_PROGRAM"), "twin_program", (char *)NULL);
		_exit(127);
	}
	nanosleep(&time, NULL);
	kill(child, SIGKILL);
	return waitpid(child, &status, 0) == child &&
	       (WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

/* Checks and removes what is in the directory.  Returns the samples; counts finished operations. */
static uint64_t check_region(long ns, uint64_t *finished_count)
{
	static struct gg_error error;
	DIR *d = opendir(directory);
	struct dirent *entry;
	uint64_t samples = 0;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		struct gg_region_view view;
		char path[600];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		/* Killed before the region was one: there is no magic yet. */
		if (gg_region_view_open(&view, path, &error) == 0) {
			CHECK_MSG(!view.torn && view.damaged_count == 0 &&
			                  gg_region_view_check(&view, NULL) == 0,
			          "not consistent after %ld ns", ns);
			samples = view.header.counters[GG_COUNT_SAMPLES];
			*finished_count += view.finished_count;
			gg_region_view_done(&view);
		}
		unlink(path);
	}
	if (d != NULL)
		closedir(d);
	return samples;
}

TEST(a_region_is_consistent_after_a_kill_at_any_moment)
{
	int runs = getenv("KILLS") != NULL ? atoi(getenv("KILLS")) : 100, with_samples = 0;
	uint64_t finished = 0;
	struct gg_rng rng;

	gg_rng_seed(&rng, 11, 0);
	for (int i = 0; i < runs; i++) {
		/* The program runs for some 30 ms, on a machine with nothing else to do. */
		long ns = (long)gg_rng_below(&rng, 40 * 1000 * 1000);

		if (!CHECK_MSG(kill_after(ns), "the program failed"))
			return;
		with_samples += check_region(ns, &finished) > 100;
	}
	printf("%d of %d had samples; %lu operations had to be finished\n", with_samples, runs,
	       (unsigned long)finished);
	CHECK(with_samples > runs / 4);
}
