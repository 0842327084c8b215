/* SPDX-License-Identifier: Apache-2.0 */
/* group_stacks - asks threads for their stacks, and reads the stacks of threads that block that. */
#include "agent/torture/group_stacks.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/maps_line.h"

enum {
	PROCESSES_MAX = 512,
	STACK_WORDS = 1024, /* of a stack that are read */
	FRAMES_MAX = 40,    /* words that are printed */
	ANSWER_US = 100000  /* for a thread to print its stack: one after the other */
};

static size_t read_all(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t length = 0;

	if (file != NULL) {
		length = fread(text, 1, size - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return length;
}

static bool blocks_signals(pid_t pid, pid_t thread)
{
	char path[64], text[4096];
	const char *blocked;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)thread);
	read_all(path, text, sizeof(text));
	blocked = strstr(text, "SigBlk:");
	return blocked != NULL &&
	       (strtoull(blocked + strlen("SigBlk:"), NULL, 16) >> (SIGQUIT - 1) & 1) != 0;
}

/* The stack pointer of a thread in a system call; 0: it runs, or may not be read. */
static uint64_t stack_pointer(pid_t pid, pid_t thread)
{
	char path[64], text[256], *word;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
	read_all(path, text, sizeof(text));
	word = strrchr(text, ' '); /* the last word is the pc, and the one before it is sp */
	if (word == NULL)
		return 0;
	*word = '\0';
	word = strrchr(text, ' ');
	return word != NULL ? strtoull(word, NULL, 0) : 0;
}

static bool find_code(const char *maps, uint64_t address, struct gg_maps_line *ret_line)
{
	for (const char *end; (end = strchr(maps, '\n')) != NULL; maps = end + 1)
		if (gg_maps_line_parse(maps, (size_t)(end - maps), ret_line) &&
		    address - ret_line->begin < ret_line->end - ret_line->begin)
			return (ret_line->protection & PROT_EXEC) != 0 && ret_line->path_bytes != 0;
	return false;
}

static void print_words(int fd, pid_t pid, pid_t thread)
{
	static char maps[1 << 18];
	static uint64_t words[STACK_WORDS];
	uint64_t sp = stack_pointer(pid, thread) & ~UINT64_C(7);
	struct iovec mine = { words, sizeof(words) },
		     its = { (void *)(uintptr_t)sp, sizeof(words) };
	ssize_t bytes = sp != 0 ? process_vm_readv(pid, &mine, 1, &its, 1, 0) : 0;
	struct gg_maps_line line;
	char path[64];

	dprintf(fd,
	        "process %d, thread %d blocks signals; its stack has these addresses of code:\n",
	        (int)pid, (int)thread);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	read_all(path, maps, sizeof(maps));
	for (ssize_t i = 0, printed = 0; i < bytes / 8 && printed < FRAMES_MAX; i++)
		if (find_code(maps, words[i], &line))
			printed += dprintf(fd, "%.*s(+0x%llx)\n", (int)line.path_bytes, line.path,
			                   (unsigned long long)(words[i] - line.begin +
			                                        line.offset)) > 0;
}

static void print_threads(int fd, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads != NULL && (entry = readdir(threads)) != NULL) {
		pid_t thread = atoi(entry->d_name);

		if (thread == 0)
			continue;
		if (blocks_signals(pid, thread)) {
			print_words(fd, pid, thread);
		} else {
			syscall(SYS_tgkill, pid, thread, SIGQUIT);
			usleep(ANSWER_US);
		}
	}
	if (threads != NULL)
		closedir(threads);
}

static int is_younger(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x < y) - (x > y);
}

void group_stacks_print(pid_t group, const char *path)
{
	pid_t pids[PROCESSES_MAX];
	struct dirent *entry;
	size_t count = 0;
	DIR *processes = opendir("/proc");
	int fd = open(path, O_WRONLY | O_APPEND);

	while (processes != NULL && (entry = readdir(processes)) != NULL) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && getpgid(pid) == group && count < GG_COUNT(pids))
			pids[count++] = pid;
	}
	if (processes != NULL)
		closedir(processes);
	qsort(pids, count, sizeof(pids[0]), is_younger);
	for (size_t i = 0; i < count; i++)
		print_threads(fd, pids[i]);
	if (fd >= 0)
		close(fd);
}
