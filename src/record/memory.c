/* SPDX-License-Identifier: Apache-2.0 */
#include "record/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	ROLLUP_PART = 500, /* a walk that took t is taken again after 500 t */
	PARTS_SECONDS = 10,
	ROUND_MS = 5, /* of walks in one snapshot */
};

/* The whole file, as text; false: it is not there. */
static bool read_file(const char *path, struct gg_buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	gg_buf_clear(text);
	if (fd < 0)
		return false;
	while (gg_buf_reserve(text, 16384) &&
	       (got = read(fd, text->data + text->length, 16384)) > 0)
		text->length += (size_t)got;
	close(fd);
	if (text->data != NULL)
		text->data[text->length] = '\0';
	return got == 0 && text->length > 0;
}

/* "Name:   123 kB" in bytes; -1: no such line. */
static int64_t find_kb(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return strtoll(line + length + 1, NULL, 10) * 1024;
	}
	return -1;
}

/* Resident bytes of the mappings called `name`. */
static int64_t find_part(const char *text, const char *name)
{
	const char *at = text, *line;
	int64_t sum = 0;

	while ((at = strstr(at, name)) != NULL) {
		at += strlen(name);
		line = strstr(at, "\nRss:");
		if (line == NULL)
			break;
		sum += strtoll(line + 5, NULL, 10) * 1024;
	}
	return sum;
}

/* Reads a file that costs the process something, if it is time to. */
static bool read_walk(struct gg_follower *follower, const char *file, uint64_t least_ns,
                      uint64_t *next_ns, struct gg_buf *text)
{
	uint64_t before_ns = gg_clock_monotonic_ns(), pause_ns;
	char path[64];
	bool is_there;

	if (before_ns < *next_ns)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/%s", follower->target->pid, file);
	is_there = read_file(path, text);
	pause_ns = (gg_clock_monotonic_ns() - before_ns) * ROLLUP_PART;
	*next_ns = before_ns + (pause_ns > least_ns ? pause_ns : least_ns);
	return is_there;
}

static void update_walks(struct gg_follower *follower, struct gg_buf *text)
{
	/* A little under, so that a snapshot each second finds it due. */
	if (read_walk(follower, "smaps_rollup", SECOND_NS / 10 * 9, &follower->next_rollup_ns,
	              text))
		follower->pss_bytes = find_kb(gg_buf_text(text), "Pss");
	if (read_walk(follower, "smaps", PARTS_SECONDS * SECOND_NS, &follower->next_parts_ns,
	              text)) {
		follower->heap_bytes = find_part(gg_buf_text(text), "[heap]");
		follower->stack_bytes = find_part(gg_buf_text(text), "[stack]");
	}
}

/* The session's control group: all of it, also what is not ours. */
static int64_t read_cgroup(struct gg_buf *text)
{
	char path[4096 + 64];
	const char *line;

	if (!read_file("/proc/self/cgroup", text))
		return -1;
	if ((line = strstr(gg_buf_text(text), ":memory:")) != NULL)
		snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%.*s/memory.usage_in_bytes",
		         (int)strcspn(line + 8, "\n"), line + 8);
	else if ((line = strstr(gg_buf_text(text), "0::")) != NULL)
		snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/memory.current",
		         (int)strcspn(line + 3, "\n"), line + 3);
	else
		return -1;
	return read_file(path, text) ? strtoll(gg_buf_text(text), NULL, 10) : -1;
}

static struct gg_memory nothing_known(int64_t time_ns)
{
	return (struct gg_memory){ .time_ns = time_ns,
		                   .rss_bytes = -1,
		                   .pss_bytes = -1,
		                   .anonymous_bytes = -1,
		                   .file_bytes = -1,
		                   .shared_bytes = -1,
		                   .swap_bytes = -1,
		                   .heap_bytes = -1,
		                   .stack_bytes = -1,
		                   .cgroup_bytes = -1 };
}

static bool read_process(struct gg_follower *follower, struct gg_memory *memory,
                         struct gg_buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", follower->target->pid);
	if (!read_file(path, text))
		return false;
	memory->process = follower->target->id;
	memory->rss_bytes = find_kb(gg_buf_text(text), "VmRSS");
	memory->anonymous_bytes = find_kb(gg_buf_text(text), "RssAnon");
	memory->file_bytes = find_kb(gg_buf_text(text), "RssFile");
	memory->shared_bytes = find_kb(gg_buf_text(text), "RssShmem");
	memory->swap_bytes = find_kb(gg_buf_text(text), "VmSwap");
	memory->pss_bytes = follower->pss_bytes;
	memory->heap_bytes = follower->heap_bytes;
	memory->stack_bytes = follower->stack_bytes;
	memory->live_bytes = follower->target->live_bytes;
	if (memory->anonymous_bytes > follower->target->anonymous_most_bytes)
		follower->target->anonymous_most_bytes = memory->anonymous_bytes;
	return memory->rss_bytes >= 0; /* a zombie has none */
}

int gg_memory_snapshot(struct gg_follow *follow)
{
	struct gg_output *output = follow->output;
	struct gg_memory all = nothing_known(output->now_ns);
	uint64_t walks_end_ns = gg_clock_monotonic_ns() + ROUND_MS * UINT64_C(1000000);
	struct gg_buf text = { 0 };

	for (struct gg_follower *f = follow->first; f != NULL && output->status == 0; f = f->next) {
		struct gg_memory memory = nothing_known(output->now_ns);

		if (gg_clock_monotonic_ns() < walks_end_ns)
			update_walks(f, &text);
		if (!read_process(f, &memory, &text))
			continue;
		all.rss_bytes = (all.rss_bytes > 0 ? all.rss_bytes : 0) + memory.rss_bytes;
		if (memory.pss_bytes >= 0)
			all.pss_bytes = (all.pss_bytes > 0 ? all.pss_bytes : 0) + memory.pss_bytes;
		/* What an ancestor holds too is one block. */
		all.live_bytes += f->target->live_bytes;
		if (f->target->ancestor != NULL && !f->target->ancestor->is_finished)
			all.live_bytes -= f->target->inherited_bytes;
		gg_output_keep(output,
		               gg_profile_add_memory(output->profile, &memory, output->error));
	}
	all.cgroup_bytes = read_cgroup(&text);
	gg_buf_done(&text);
	if (output->status == 0)
		gg_output_keep(output, gg_profile_add_memory(output->profile, &all, output->error));
	return output->status;
}
