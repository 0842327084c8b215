/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_threads - reads /proc/PID/task (look/look_threads.h).
 */
#include "record/look/look_threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "record/process/proc_file.h"

/* The text of a thread that has a processor, or waits for one. */
#define RUNNING "running"

/*
 * Returns the stack pointer in "NUMBER ARGUMENTS... STACK PC", the text of a waiting thread; 0: the
 * text is another one, such as "running".
 */
static uint64_t find_stack_pointer(const char *text)
{
	const char *last = strrchr(text, ' '), *before = last;

	if (last == NULL)
		return 0;
	while (before > text && before[-1] != ' ')
		before--;
	return before > text ? strtoull(before, NULL, 16) : 0;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

void gg_look_threads_read(struct gg_look_threads *threads, pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	char path[64];
	DIR *listing;
	uint32_t tid;

	threads->count = -1;
	threads->busy_count = 0;
	threads->stack_pointers.count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	listing = opendir(path);
	if (listing == NULL)
		return;
	threads->count = 0;
	while ((tid = gg_proc_file_next_number(listing)) != 0) {
		uint64_t stack_pointer;

		if (threads->count++ >= GG_LOOK_THREADS_MAX ||
		    !gg_proc_file_read(&text, "%s/%u/syscall", path, tid)) {
			threads->busy_count++;
			continue;
		}
		threads->busy_count += strncmp(gg_buf_text(&text), RUNNING, strlen(RUNNING)) == 0;
		stack_pointer = find_stack_pointer(gg_buf_text(&text));
		if (stack_pointer != 0 && !gg_array_push(&threads->stack_pointers, stack_pointer))
			break;
	}
	closedir(listing);
	if (threads->stack_pointers.count > 0)
		qsort(threads->stack_pointers.items, threads->stack_pointers.count,
		      sizeof(uint64_t), compare_addresses);
}

void gg_look_threads_done(struct gg_look_threads *threads)
{
	gg_array_done(&threads->stack_pointers);
}
