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

struct session_program {
	int64_t start_ns;
	uint32_t process, pid;
};

struct session_programs {
	GG_ARRAY(struct session_program) list;
};

static int add_program(const struct gg_profile_process *process, void *context)
{
	struct session_programs *programs = context;
	struct session_program program = { process->start_ns, process->id, process->pid };

	return gg_array_push(&programs->list, program) ? 0 : -ENOMEM;
}

/* Programs that a process executes one after the other share a pid.  0: no process fits. */
static uint32_t process_at(const struct session_programs *programs, uint32_t pid, int64_t time_ns)
{
	const struct session_program *found = NULL;

	for (size_t i = 0; i < programs->list.count; i++) {
		const struct session_program *program = &programs->list.items[i];

		if (program->pid == pid && program->start_ns <= time_ns &&
		    (found == NULL || program->start_ns >= found->start_ns))
			found = program;
	}
	return found != NULL ? found->process : 0;
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

static void read_lines(struct gg_profile_writer *writer, const struct session_programs *programs,
                       uint32_t pid, FILE *file, int64_t *last_ns)
{
	char line[LINE_BYTES];
	int64_t numbers[NUMBER_COUNT];

	for (int i = 0; i < COLLECTIONS_LINES_MAX && fgets(line, sizeof(line), file) != NULL; i++) {
		int64_t time_ns;
		uint32_t process;

		if (!parse(line, numbers) || writer->status < 0)
			return;
		time_ns = gg_profile_writer_time(writer, (uint64_t)numbers[NUMBER_TIME]);
		process = process_at(programs, pid, time_ns);
		if (process == 0)
			continue;
		write_line(writer, process, time_ns, numbers);
		if (last_ns != NULL && time_ns > *last_ns)
			*last_ns = time_ns;
	}
}

static void read_file(struct gg_profile_writer *writer, const struct session_programs *programs,
                      int directory_fd, const char *name, int64_t *last_ns)
{
	uint32_t pid = (uint32_t)strtoul(name + strlen(GG_SESSION_COLLECTIONS_PREFIX), NULL, 10);
	int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	FILE *file;

	if (fd < 0)
		return;
	file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
	if (file == NULL) {
		close(fd);
		return;
	}
	read_lines(writer, programs, pid, file, last_ns);
	fclose(file);
}

static int is_file_of_collections(const struct dirent *entry)
{
	return strncmp(entry->d_name, GG_SESSION_COLLECTIONS_PREFIX,
	               strlen(GG_SESSION_COLLECTIONS_PREFIX)) == 0;
}

int gg_collections_write(struct gg_profile_writer *writer, int directory_fd, int64_t *last_ns)
{
	struct session_programs programs = { 0 };
	struct dirent **files = NULL;
	int count = scandirat(directory_fd, ".", &files, is_file_of_collections, versionsort);

	if (count > 0)
		gg_profile_writer_keep(writer, gg_profile_each_process(writer->profile, add_program,
		                                                       &programs, writer->error));
	for (int i = 0; i < count; i++) {
		if (writer->status == 0)
			read_file(writer, &programs, directory_fd, files[i]->d_name, last_ns);
		free(files[i]);
	}
	free(files);
	gg_array_done(&programs.list);
	return writer->status;
}
