/* SPDX-License-Identifier: Apache-2.0 */
/* trap_repair - reads the original code from the file of the mapping (attach/trap_repair.h). */
#include "attach/trap_repair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/trap_plan.h"
#include "base/buf.h"
#include "base/maps_line.h"
#include "record/process/proc_file.h"

/* Finds the mapping in the text of /proc/PID/maps, into which its path points. */
static bool find_mapping(const struct gg_buf *text, uint64_t address, struct gg_maps_line *ret_line)
{
	for (const char *at = gg_buf_text(text); *at != '\0'; at += strcspn(at, "\n")) {
		at += *at == '\n';
		if (gg_maps_line_parse(at, strcspn(at, "\n"), ret_line) &&
		    ret_line->begin <= address && address < ret_line->end)
			return true;
	}
	return false;
}

/*
 * Opens the file of a mapping.  The kernel gives the file itself to root alone, also after its name
 * has gone; others use its name.
 */
static int open_file(pid_t pid, const struct gg_maps_line *line)
{
	char path[PATH_MAX];
	struct stat file;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
	         line->begin, line->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)pid, (int)line->path_bytes,
		         line->path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd >= 0 &&
	    (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_ino != line->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Reads the word of the function from the file that its code was mapped from. */
static int read_original(pid_t pid, uint64_t place, uint64_t *ret_word)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_maps_line line;
	ssize_t got;
	int fd;

	if (!gg_proc_file_read(&text, "/proc/%d/maps", (int)pid) ||
	    !find_mapping(&text, place, &line) || line.path_bytes == 0)
		return -ENOENT;
	fd = open_file(pid, &line);
	if (fd < 0)
		return -ENOENT;
	got = pread(fd, ret_word, sizeof(*ret_word), (off_t)(place - line.begin + line.offset));
	close(fd);
	return got == (ssize_t)sizeof(*ret_word) ? 0 : -ENOENT;
}

/* Reads the word of a function's entry.  Returns 1 if it has a trap, 0 if not, or -Exxx. */
static int find_trap(const struct gg_remote_memory *memory, uint64_t entry,
                     struct gg_trap *ret_trap, uint64_t *ret_word)
{
	int status = gg_trap_plan_place(entry, ret_trap);

	if (status == 0)
		status = gg_remote_memory_read(memory, ret_trap->place, ret_word,
		                               sizeof(*ret_word));
	return status < 0 ? status : gg_trap_plan_is_trap(ret_trap, *ret_word);
}

bool gg_trap_repair_is_needed(const struct gg_remote_memory *memory, uint64_t entry)
{
	struct gg_trap trap;
	uint64_t word;

	return find_trap(memory, entry, &trap, &word) > 0;
}

int gg_trap_repair(const struct gg_remote_memory *memory, uint64_t entry)
{
	struct gg_trap trap;
	uint64_t word = 0, original = 0;
	int status = find_trap(memory, entry, &trap, &word);

	if (status <= 0)
		return status;
	status = read_original(memory->pid, trap.place, &original);
	if (status < 0)
		return status;
	gg_trap_plan_set_words(&trap, original);
	if (trap.trapped != word || trap.original == word)
		return -ENOENT;
	status = gg_remote_memory_write(memory, trap.place, &trap.original, sizeof(trap.original));
	return status < 0 ? status : 1;
}
