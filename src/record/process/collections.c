/* SPDX-License-Identifier: Apache-2.0 */
/* collections - reads the files of collections, and finds the process of each line. */
#include "record/process/collections.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "region/session_files.h"

enum {
	COLLECTIONS_LINES_MAX = 100000, /* of a file; a year has some 6000 */
	LINE_BYTES = 512
};

/* No number of a line but its time is larger, so that sums of lines do not overflow. */
#define NUMBER_MAX (INT64_C(1) << 52)

enum number {
	NUMBER_TIME,
	NUMBER_MINOR,
	NUMBER_STEPS,
	NUMBER_MAJOR,
	NUMBER_PAUSE,
	NUMBER_LONGEST,
	NUMBER_HEAP, /* this one and the following: -1 is unknown */
	NUMBER_MOST,
	NUMBER_ARENAS,
	NUMBER_LARGE,
	NUMBER_COUNT
};

/* The writer of a file, as its name and its owner tell. */
struct writer_of_file {
	uint32_t pid;
	uint64_t start_ticks; /* 0: unknown */
	uint64_t region_ns;   /* just before the start of its region; 0: unknown */
	int64_t owner;
};

/* The programs that may have written one file. */
struct candidates {
	GG_ARRAY(struct gg_collections_program) list;
};

static bool may_have_written(const struct gg_collections_program *program,
                             const struct writer_of_file *by)
{
	return by->pid != 0 && program->pid == by->pid &&
	       (program->start_ticks == 0 || by->start_ticks == 0 ||
	        program->start_ticks == by->start_ticks) &&
	       (by->owner == 0 || by->owner == (int64_t)geteuid() || program->owner < 0 ||
	        by->owner == program->owner);
}

/* Keeps only the program whose region was the next one to start, if there is such a program. */
static void keep_that_of_region(struct candidates *candidates, uint64_t region_ns)
{
	struct gg_collections_program *items = candidates->list.items, *next = NULL;

	for (size_t i = 0; i < candidates->list.count; i++)
		if (items[i].region_ns >= region_ns &&
		    (next == NULL || items[i].region_ns < next->region_ns))
			next = &items[i];
	if (next == NULL)
		return;
	items[0] = *next;
	candidates->list.count = 1;
}

static int find_candidates(struct candidates *candidates,
                           const struct gg_collections_program *programs, size_t count,
                           const struct writer_of_file *by)
{
	candidates->list.count = 0;
	for (size_t i = 0; i < count; i++)
		if (may_have_written(&programs[i], by) &&
		    !gg_array_push(&candidates->list, programs[i]))
			return -ENOMEM;
	if (by->region_ns != 0)
		keep_that_of_region(candidates, by->region_ns);
	return 0;
}

/* Returns the program that ran last of those that had begun; NULL: no program ran. */
static const struct gg_collections_program *program_at(const struct candidates *candidates,
                                                       uint64_t time_ns)
{
	const struct gg_collections_program *found = NULL;

	for (size_t i = 0; i < candidates->list.count; i++) {
		const struct gg_collections_program *program = &candidates->list.items[i];

		if (program->from_ns <= time_ns && time_ns <= program->to_ns &&
		    (found == NULL || program->from_ns >= found->from_ns))
			found = program;
	}
	return found;
}

static bool parse(const char *line, int64_t numbers[NUMBER_COUNT])
{
	for (int i = 0; i < NUMBER_COUNT; i++) {
		char *end;

		if (*line != '-' && (*line < '0' || *line > '9'))
			return false;
		errno = 0;
		numbers[i] = strtoll(line, &end, 10);
		if (errno != 0 || end == line || *end != (i + 1 < NUMBER_COUNT ? ' ' : '\n') ||
		    (i != NUMBER_TIME && numbers[i] > NUMBER_MAX) ||
		    numbers[i] < (i < NUMBER_HEAP ? 0 : -1))
			return false;
		line = end + 1;
	}
	return *line == '\0';
}

static void write_line(struct gg_profile_writer *writer, uint32_t process, int64_t time_ns,
                       const int64_t *numbers)
{
	writer->counts.collections_count++;
	gg_profile_writer_event(writer, process, time_ns, GG_PROFILE_COLLECTIONS,
	                        GG_PROFILE_COLLECTIONS_FORMAT, numbers[NUMBER_MINOR],
	                        numbers[NUMBER_STEPS], numbers[NUMBER_MAJOR], numbers[NUMBER_PAUSE],
	                        numbers[NUMBER_LONGEST], numbers[NUMBER_HEAP], numbers[NUMBER_MOST],
	                        numbers[NUMBER_ARENAS], numbers[NUMBER_LARGE]);
}

static void read_lines(struct gg_profile_writer *writer, const struct candidates *candidates,
                       FILE *file, int64_t *last_ns)
{
	char line[LINE_BYTES];
	int64_t numbers[NUMBER_COUNT];

	for (int i = 0; i < COLLECTIONS_LINES_MAX && fgets(line, sizeof(line), file) != NULL; i++) {
		const struct gg_collections_program *program;
		int64_t time_ns;

		if (!parse(line, numbers) || writer->status < 0)
			return;
		program = program_at(candidates, (uint64_t)numbers[NUMBER_TIME]);
		if (program == NULL)
			continue;
		writer->start_ns = program->session_zero_ns;
		time_ns = gg_profile_writer_time(writer, (uint64_t)numbers[NUMBER_TIME]);
		write_line(writer, program->process, time_ns, numbers);
		if (last_ns != NULL && time_ns > *last_ns)
			*last_ns = time_ns;
	}
}

static struct writer_of_file writer_by_name(const char *name)
{
	struct writer_of_file by = { 0 };
	char *end;

	by.pid = (uint32_t)strtoul(name + strlen(GG_SESSION_COLLECTIONS_PREFIX), &end, 10);
	if (*end == '-')
		by.start_ticks = strtoull(end + 1, &end, 10);
	if (*end == '-')
		by.region_ns = strtoull(end + 1, NULL, 10);
	return by;
}

static void read_file(struct gg_profile_writer *writer, int directory_fd, const char *name,
                      const struct gg_collections_program *programs, size_t count, int64_t *last_ns)
{
	struct writer_of_file by = writer_by_name(name);
	int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct candidates candidates = { 0 };
	struct stat status;
	FILE *file;

	if (fd < 0)
		return;
	file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
	if (file == NULL) {
		close(fd);
		return;
	}
	by.owner = (int64_t)status.st_uid;
	if (find_candidates(&candidates, programs, count, &by) < 0)
		gg_profile_writer_keep(writer, gg_error_memory(writer->error, name));
	else if (candidates.list.count > 0)
		read_lines(writer, &candidates, file, last_ns);
	gg_array_done(&candidates.list);
	fclose(file);
}

static int is_file_of_collections(const struct dirent *entry)
{
	return strncmp(entry->d_name, GG_SESSION_COLLECTIONS_PREFIX,
	               strlen(GG_SESSION_COLLECTIONS_PREFIX)) == 0;
}

/* Returns the number of files; the caller frees them with free_files(). */
static int list_files(int directory_fd, struct dirent ***ret_files)
{
	*ret_files = NULL;
	return scandirat(directory_fd, ".", ret_files, is_file_of_collections, versionsort);
}

static void free_files(struct dirent **files, int count)
{
	for (int i = 0; i < count; i++)
		free(files[i]);
	free(files);
}

int gg_collections_write(struct gg_profile_writer *writer, int directory_fd,
                         const struct gg_collections_program *programs, size_t count,
                         int64_t *last_ns)
{
	struct dirent **files;
	int file_count = list_files(directory_fd, &files);
	uint64_t start_ns = writer->start_ns;

	for (int i = 0; i < file_count && writer->status == 0; i++)
		read_file(writer, directory_fd, files[i]->d_name, programs, count, last_ns);
	free_files(files, file_count);
	writer->start_ns = start_ns;
	return writer->status;
}

/* --- all processes of a session --- */

struct session_programs {
	GG_ARRAY(struct gg_collections_program) list; /* by the id of the process */
	uint64_t start_ns;                            /* of the session */
};

/* Forked children that were idle to the end have no region, and so no place in the lineage. */
static int add_process(const struct gg_profile_process *process, void *context)
{
	struct session_programs *programs = context;

	if (!gg_array_extend(&programs->list, (size_t)process->id + 1))
		return -ENOMEM;
	programs->list.items[process->id] = (struct gg_collections_program){
		.process = process->id,
		.pid = process->pid,
		.from_ns = process->start_ns != GG_TIME_NONE
		                   ? programs->start_ns + (uint64_t)process->start_ns
		                   : 0,
		.to_ns = UINT64_MAX,
		.session_zero_ns = programs->start_ns,
		.owner = -1,
	};
	return 0;
}

/* A forked child creates its region with its first sample, and may have collected before. */
static void add_region(struct session_programs *programs, const struct gg_lineage_process *known)
{
	struct gg_collections_program *program = &programs->list.items[known->id];

	program->pid = known->pid;
	program->start_ticks = known->start_ticks;
	program->region_ns = known->start_ns;
	program->from_ns = known->fork_ns != 0 ? known->fork_ns : known->start_ns;
	program->owner = known->owner;
}

static int write_programs(struct gg_profile_writer *writer, int directory_fd,
                          const struct gg_lineage *lineage, struct session_programs *programs)
{
	int status = gg_profile_each_process(writer->profile, add_process, programs, writer->error);

	if (status == -ENOMEM)
		status = gg_error_memory(writer->error, "collections");
	if (gg_profile_writer_keep(writer, status) < 0)
		return writer->status;
	for (size_t i = 0; i < lineage->processes.count; i++)
		if (lineage->processes.items[i].id < programs->list.count)
			add_region(programs, &lineage->processes.items[i]);
	return gg_collections_write(writer, directory_fd, programs->list.items,
	                            programs->list.count, NULL);
}

int gg_collections_write_session(struct gg_profile_writer *writer, int directory_fd,
                                 const struct gg_lineage *lineage)
{
	struct session_programs programs = { .start_ns = writer->start_ns };
	struct dirent **files;
	int count = list_files(directory_fd, &files);

	free_files(files, count);
	if (count > 0 && writer->status == 0)
		write_programs(writer, directory_fd, lineage, &programs);
	gg_array_done(&programs.list);
	return writer->status;
}
