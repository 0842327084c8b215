/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timed [-m] [-t SECONDS] [-a BYTES] RESULT COMMAND... - runs a command and writes what it took to
 * RESULT.
 *
 * One line of JSON: wall time, the processor's time of all processes that the command waited for,
 * how it ended, and with -m the peak of the resident memory of each of its processes.  Small, so
 * that what it inherits to the command is: the kernel counts the parent's memory as a child's peak.
 * That is also why peaks are read from outside: each process stops before its memory goes
 * (PTRACE_EVENT_EXIT). Stops cost time, so a run with -m is not one to time.
 *
 * -t  the command and what it started are killed after so long
 * -a  address space that each process may have at most
 *
 * SIGTERM goes to the command, which is how servers end.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PEAKS_MAX = 256 }; /* later processes are left out */

struct peak {
	char name[20];
	long kib;
};

static struct peak peaks[PEAKS_MAX];
static int peak_count;
static volatile sig_atomic_t child, is_late;

static void forward(int signal)
{
	kill(child, signal);
}

static void end_all(int signal)
{
	(void)signal;
	is_late = 1;
	kill(-child, SIGKILL);
}

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void note_peak(pid_t pid)
{
	struct peak *peak = &peaks[peak_count];
	char path[40], line[256];
	long process = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = peak_count < PEAKS_MAX ? fopen(path, "re") : NULL;
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		sscanf(line, "Name: %19[^\n\"\\]", peak->name);
		sscanf(line, "Tgid: %ld", &process);
		if (process == pid && sscanf(line, "VmHWM: %ld", &peak->kib) == 1)
			peak_count++;
	}
	fclose(file);
}

static void run(bool traced, rlim_t bytes, char **argv)
{
	const struct rlimit limit = { bytes, bytes };

	setpgid(0, 0);
	if (bytes != 0)
		setrlimit(RLIMIT_AS, &limit);
	if (traced)
		raise(SIGSTOP); /* until it is seized */
	execvp(argv[0], argv);
	_exit(127);
}

/* Until the command has ended; others may live on. */
static int wait_traced(void)
{
	const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	                     PTRACE_O_TRACECLONE;
	int status, result = 0;
	pid_t pid;

	waitpid(child, &status, WUNTRACED);
	if (ptrace(PTRACE_SEIZE, child, 0, options) < 0)
		perror("timed: ptrace");
	kill(child, SIGCONT);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int stop = WIFSTOPPED(status) ? status >> 8 : 0, signal = 0;

		if (stop == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			note_peak(pid);
		else if (stop != 0 && stop >> 8 == 0)
			signal = stop;
		if (stop == 0 && pid == child)
			result = status;
		if (stop != 0 && stop >> 8 == PTRACE_EVENT_STOP &&
		    stop != (SIGTRAP | PTRACE_EVENT_STOP << 8))
			ptrace(PTRACE_LISTEN, pid, 0, 0);
		else if (stop != 0)
			ptrace(PTRACE_CONT, pid, 0, signal);
	}
	return result;
}

static bool tell(const char *path, double wall_s, int status)
{
	struct rusage usage;
	FILE *file = fopen(path, "we");

	if (file == NULL)
		return false;
	getrusage(RUSAGE_CHILDREN, &usage);
	fprintf(file, "{\"wall\": %.6f, \"cpu\": %.6f, \"status\": %d, \"late\": %s, \"peaks\": [",
	        wall_s,
	        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
	        WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
	        is_late ? "true" : "false");
	for (int i = 0; i < peak_count; i++)
		fprintf(file, "%s[\"%s\", %ld]", i > 0 ? ", " : "", peaks[i].name, peaks[i].kib);
	fprintf(file, "]}\n");
	return fclose(file) == 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = forward, .sa_flags = SA_RESTART };
	unsigned seconds = 0;
	rlim_t bytes = 0;
	bool traced = false;
	int option, status = 0;
	double start_s;

	while ((option = getopt(argc, argv, "+mt:a:")) != -1) {
		if (option == 'm')
			traced = true;
		else if (option == 't')
			seconds = (unsigned)atoi(optarg);
		else if (option == 'a')
			bytes = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	start_s = now_s();
	child = fork();
	if (child == 0)
		run(traced, bytes, argv + optind + 1);
	setpgid(child, child);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = end_all;
	sigaction(SIGALRM, &action, NULL);
	alarm(seconds);
	if (traced)
		status = wait_traced();
	else
		waitpid(child, &status, 0);
	return tell(argv[optind], now_s() - start_s, status) ? 0 : 1;
}
