/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_profile - makes profiles of regions without a recorder.
 *
 * Regions go into the profile in the order of their starts, so that a parent is there before its
 * children.  Each region has its own clock, and align() translates it into the first one's.
 */
#include "record/regions/region_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/time_units.h"
#include "record/diagnose/diagnostics.h"
#include "record/diagnose/notes.h"
#include "record/diagnose/preloadable.h"
#include "record/dotnet/diagnostic_port.h"
#include "record/dotnet/dotnet_samples.h"
#include "record/dotnet/unrecorded_runtime.h"
#include "record/look/ask_allocator.h"
#include "record/look/target_look.h"
#include "record/process/attach_record.h"
#include "record/process/collections.h"
#include "record/process/final_state.h"
#include "record/process/inherited.h"
#include "record/process/proc_file.h"
#include "record/regions/noted_forks.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "record/regions/unfinished_profiles.h"
#include "record/symbols/symbolize.h"
#include "region/reader/view.h"
#include "region/session_files.h"

/* If two regions' clocks differ by more than this, they are from different boots or machines. */
#define SAME_BOOT_NS (10 * GG_NS_PER_S)

/* The agent notes the end of a process before the last code of the process runs. */
#define LAST_LINE_NS GG_NS_PER_S

enum {
	EXAMINED_MAX = 16, /* regions whose programs are searched for an allocator */
	LOOK_RETRIES = 3,
	/* Processor time around blocks, and in a walk through some 20 GiB of heap. */
	LOOK_BUDGET_MS = 2000,
	HEAP_WALK_BUDGET_MS = 10000,
};

_Static_assert((int)GG_SALVAGE_WHY_MAX == (int)GG_DIAGNOSTIC_MAX, "one reason fits both");

/* A file or a directory, by whatever path. */
struct file_id {
	dev_t device;
	ino_t inode;
};

struct region {
	char *path;
	struct file_id directory;
	struct gg_region_header header;
	/* Once it is in the profile: its id there, and the start of the session by its clock. */
	uint32_t process;
	uint64_t session_zero_ns; /* it may have wrapped */
	/* The record of a process that was killed, with texts of its own; id 0: it was not. */
	struct gg_profile_process killed;
};

/* The files that a salvage reads beside regions. */
struct beside_regions {
	struct gg_diagnostic_port runtimes; /* of .NET, with the events that they have sent */
	GG_ARRAY(struct file_id) streams;   /* of these */
	char *const *paths;                 /* the given ones: directories, and regions */
	int path_count;
};

/* A directory that may have files beside the regions (region/session_files.h). */
struct session_directory {
	const char *path; /* without a 0 byte behind it */
	size_t length;
	struct file_id id;
};

struct session_directories {
	GG_ARRAY(struct session_directory) list;
};

static bool is_same_file(struct file_id a, struct file_id b)
{
	return a.device == b.device && a.inode == b.inode;
}

/* Returns all zero if there is no such file. */
static struct file_id file_id_at(int directory_fd, const char *path)
{
	struct file_id id = { 0 };
	struct stat file;

	if (fstatat(directory_fd, path, &file, 0) == 0)
		id = (struct file_id){ file.st_dev, file.st_ino };
	return id;
}

/*
 * Returns the profile's id of the latest process before regions[number] that had its parent's pid;
 * 0: there is no such process.  Sessions of containers have the same pids, so the regions of the
 * same directory come first.
 */
static uint32_t find_parent(const struct region *regions, uint32_t number)
{
	const struct region *child = &regions[number];
	uint32_t found = 0;

	for (uint32_t i = number; i > 0; i--) {
		const struct region *region = &regions[i - 1];

		if (region->header.pid != child->header.parent_pid ||
		    region->header.start_monotonic_ns > child->header.start_monotonic_ns)
			continue;
		if (is_same_file(region->directory, child->directory))
			return region->process;
		if (found == 0)
			found = region->process;
	}
	return found;
}

/*
 * Returns the last time that a region knows, in CLOCK_MONOTONIC: its end, or after a kill the
 * latest of its live samples and threads.
 */
static uint64_t last_moment(const struct gg_region_view *view)
{
	uint64_t last_ns = view->header.end_monotonic_ns;

	if (last_ns != 0)
		return last_ns;
	last_ns = view->header.start_monotonic_ns;
	for (uint32_t i = 0; i < view->live_count; i++)
		last_ns = view->live[i].time_ns > last_ns ? view->live[i].time_ns : last_ns;
	for (uint32_t i = 0; i < view->thread_count; i++) {
		const struct gg_region_thread_record *row = &view->threads[i];

		/* A thread may have started or ended after the last live sample was allocated. */
		last_ns = row->start_ns > last_ns ? row->start_ns : last_ns;
		last_ns = row->end_ns > last_ns ? row->end_ns : last_ns;
	}
	return last_ns;
}

/*
 * Aligns the region's clock with the session's, which is the clock of the first region.
 *
 * Within one boot, CLOCK_MONOTONIC is exact, and wall time may jump.  Another boot has another
 * CLOCK_MONOTONIC, so the difference of the two clocks' distances exceeds SAME_BOOT_NS, and wall
 * time decides.
 */
static void align(struct gg_profile_writer *writer, const struct gg_profile_session *session,
                  uint64_t first_ns, const struct gg_region_header *header)
{
	int64_t by_wall_ns = (int64_t)(header->start_wall_ns - session->start_wall_ns);
	int64_t by_clock_ns = (int64_t)(header->start_monotonic_ns - first_ns);
	int64_t difference_ns = by_wall_ns - by_clock_ns;

	writer->start_ns = first_ns;
	if (difference_ns > SAME_BOOT_NS || difference_ns < -SAME_BOOT_NS)
		writer->start_ns = header->start_monotonic_ns - (uint64_t)by_wall_ns;
}

/* Notes that the state is that of a running process, and so not a final one. */
static int note_what_it_is(struct gg_profile_writer *writer, const struct gg_target *target,
                           bool is_alive)
{
	if (is_alive)
		gg_profile_writer_note(
			writer,
			"Process %u was running when its region was read: this is its state of "
			"that moment.",
			target->pid);
	return writer->status;
}

/*
 * Adds notes about programs with their own allocators; a run of regions of the same program gets
 * one.  If nothing was sampled, `why` gets the reason.
 */
static int note_what_is_missing(struct gg_profile_writer *writer, const struct region *regions,
                                uint32_t count, char why[GG_SALVAGE_WHY_MAX])
{
	char exe[GG_REGION_EXE_MAX + 1], before[GG_REGION_EXE_MAX + 1] = "";
	char reason[GG_PRELOADABLE_WHY_MAX];

	for (uint32_t i = 0; i < count && i < EXAMINED_MAX; i++) {
		const struct gg_region_header *header = &regions[i].header;

		snprintf(exe, sizeof(exe), "%.*s", (int)header->exe_bytes, header->exe);
		if (strcmp(exe, before) == 0)
			continue;
		memcpy(before, exe, sizeof(before));
		if (gg_preloadable_of(exe, reason) != GG_PRELOADABLE_PART)
			continue;
		gg_profile_writer_note(writer, "Not all can be seen: of %s, %s.", exe, reason);
		if (writer->counts.taken_count == 0 && why[0] == '\0')
			snprintf(why, GG_SALVAGE_WHY_MAX, "%s", reason);
	}
	if (writer->counts.taken_count > 0)
		return writer->status;
	if (why[0] == '\0') {
		gg_diagnostics_unseen(writer, why);
		gg_profile_writer_note(writer, "Nothing was sampled: %s.", why);
	}
	return writer->status;
}

int gg_region_profile_note(struct gg_profile_writer *writer, const struct gg_target *target)
{
	const struct region region = { .header = target->reader.header };
	char why[GG_SALVAGE_WHY_MAX] = "";

	writer->counts.taken_count = 1; /* "nothing was sampled" would be too early here */
	note_what_it_is(writer, target, false);
	return note_what_is_missing(writer, &region, 1, why);
}

/*
 * Looks at the running process of a region.  The profile then has the process's mappings, and the
 * memory around its samples.  A caller that may not read these gets a profile without a look.  The
 * look comes right after the view of the region, and before the samples go into the profile, which
 * takes long: so both see nearly the same blocks.  Returns whether there is a look.
 */
static bool take_look(struct gg_target_look *ret, struct gg_profile_writer *writer,
                      struct gg_target *target, int fd)
{
	struct gg_region_reader reader = { .fd = fd };
	const struct gg_target_look_options options = {
		.reader = &reader,
		.pid = (pid_t)gg_process_alive_pid_here(&target->reader.header, fd),
		.answer_ms = GG_LOOK_ANSWER_MOST_MS,
		.retry_count = LOOK_RETRIES,
		.budget_ns = LOOK_BUDGET_MS * GG_NS_PER_MS,
		.heap_walk_budget_ns = HEAP_WALK_BUDGET_MS * GG_NS_PER_MS,
		.knows_no_samples = true,
		.seed = gg_clock_monotonic_ns() - writer->start_ns,
	};
	struct gg_error error = { 0 };

	return gg_target_look_begin(ret, target, &options, &error) == 0;
}

/* Adds the resident memory of a process at which nobody looks. */
static int put_rss(struct gg_profile_writer *writer, uint32_t process, uint32_t pid)
{
	struct gg_profile_memory memory = gg_profile_memory_unknown(process, writer->now_ns);

	memory.rss_bytes = pid != 0 ? gg_proc_file_rss_bytes(pid) : -1;
	if (memory.rss_bytes <= 0)
		return 0;
	return gg_profile_writer_keep(
		writer, gg_profile_add_memory(writer->profile, &memory, writer->error));
}

/* Keeps the record of a process that was killed: its end has bounds once all regions are read. */
static int keep_killed(struct region *region, const struct gg_target *target)
{
	const struct gg_profile_process *record = &target->record;
	char *exe = record->exe != NULL ? strdup(record->exe) : NULL;
	char *command = record->command != NULL ? strdup(record->command) : NULL;

	if ((record->exe != NULL && exe == NULL) || (record->command != NULL && command == NULL)) {
		free(exe);
		free(command);
		return -ENOMEM;
	}
	region->killed = *record;
	region->killed.id = target->id;
	region->killed.exe = exe;
	region->killed.command = command;
	return 0;
}

/*
 * Sets the latest end of processes that were killed.  A region does not tell when that was, so it
 * may have been any time until the last one that the regions know of.  That moment itself belongs
 * to the process that is known to have lived then, because the last process decides what is live at
 * the end (profile/live_at_end.h).
 */
static int bound_ends(struct gg_profile_writer *writer, struct region *regions, uint32_t count,
                      int64_t last_ns)
{
	for (uint32_t i = 0; i < count && writer->status == 0; i++) {
		struct gg_profile_process *killed = &regions[i].killed;

		if (killed->id == 0 || killed->end_ns >= last_ns - 1)
			continue;
		killed->end_range_ns = last_ns - 1 - killed->end_ns;
		killed->end_ns = last_ns - 1;
		gg_profile_writer_keep(writer,
		                       gg_profile_update_process(writer->profile, killed->id,
		                                                 killed, writer->error));
	}
	return writer->status;
}

/* Adds the process of regions[number] to the profile.  has_streams: managed memory follows. */
static int add_region(struct gg_profile_writer *writer, struct gg_target_set *set,
                      struct region *regions, uint32_t number, bool has_streams, bool has_looks,
                      uint64_t *last_ns, struct gg_error *error)
{
	const char *path = regions[number].path;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;
	struct gg_region_view view;
	struct gg_target *target;
	struct gg_target_look look;
	bool is_alive, has_look = false;
	int64_t end_ns;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	status = gg_region_view_read(&view, fd, path, error);
	if (status < 0) {
		close(fd);
		return status;
	}
	*last_ns = last_moment(&view);
	status = gg_target_open(&target, set, writer, fd, 0, find_parent(regions, number), false,
	                        error);
	regions[number].session_zero_ns = writer->start_ns;
	if (status == 0)
		regions[number].process = target->id;
	is_alive = gg_process_alive_region(&view.header, fd);
	if (has_looks && is_alive && status == 0)
		has_look = take_look(&look, writer, target, fd);
	if (status == 0)
		status = gg_inherited_take(target, error);
	if (is_alive) /* now is the upper bound for its frees */
		writer->now_ns = (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
	if (status == 0 && is_alive && !has_looks)
		status = put_rss(writer, target->id,
		                 (uint32_t)gg_process_alive_pid_here(&view.header, fd));
	if (status == 0)
		status = note_what_it_is(writer, target, is_alive);
	if (status == 0 && is_alive && !has_streams)
		gg_unrecorded_runtime_note(writer,
		                           (pid_t)gg_process_alive_pid_here(&view.header, fd));
	/* Nobody saw the exit status; a noted end means an orderly exit, or a detach. */
	end_ns = is_alive ? GG_TIME_NONE : gg_profile_writer_time(writer, *last_ns);
	if (status == 0)
		status = gg_final_state_write(target, (struct gg_end_bounds){ end_ns, end_ns },
		                              gg_attach_record_ending(&view.header));
	if (status == 0 && !is_alive && view.header.end_monotonic_ns == 0)
		status = gg_profile_writer_keep(writer, keep_killed(&regions[number], target));
	gg_region_view_done(&view);
	if (status == 0 && has_look)
		gg_target_look_put(&look, target);
	else if (has_look)
		gg_look_done(&look.look);
	return status;
}

/* Joins the arguments by blanks, without a shell's quotes.  The caller frees the text. */
static char *command_of(const struct gg_region_header *header)
{
	char *text = calloc(1, header->command_bytes + 1);

	if (text == NULL)
		return NULL;
	for (uint32_t i = 0; i < header->command_bytes; i++)
		text[i] = header->command[i] != '\0' ? header->command[i] : ' ';
	for (uint32_t i = header->command_bytes; i > 0 && text[i - 1] == ' '; i--)
		text[i - 1] = '\0';
	return text;
}

/*
 * Aligns the clock of this boot with the session's.  Wall time may have jumped since the first
 * region began, so it decides only if that was in an earlier boot.
 */
static void align_now(struct gg_profile_writer *writer, const struct gg_region_header *first)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), wall_ns = gg_clock_wall_ns();
	uint64_t boot_ns = wall_ns - gg_clock_boot_ns();

	writer->start_ns = first->start_monotonic_ns;
	if (first->start_monotonic_ns > now_ns || first->start_wall_ns + SAME_BOOT_NS < boot_ns)
		writer->start_ns = now_ns - (wall_ns - first->start_wall_ns);
	if ((int64_t)(now_ns - writer->start_ns) > 0)
		writer->now_ns = (int64_t)(now_ns - writer->start_ns);
}

/*
 * Adds the samples of .NET's runtimes.  They were sent before now, and one clock serves all of this
 * boot; add_stream() leaves out those of an earlier one.
 */
static int add_runtimes(struct gg_profile_writer *writer, const struct gg_diagnostic_port *runtimes,
                        const struct gg_region_header *first, int64_t *end_ns)
{
	int64_t last_ns = 0;
	int status;

	align_now(writer, first);
	status = gg_dotnet_samples_write(runtimes, writer, &last_ns);
	*end_ns = last_ns > *end_ns ? last_ns : *end_ns;
	return status;
}

static int add_directory(struct session_directories *directories, const char *path, size_t length,
                         struct file_id id)
{
	struct session_directory added = { path, length, id };

	for (size_t i = 0; i < directories->list.count; i++)
		if (is_same_file(directories->list.items[i].id, id))
			return 0;
	return gg_array_push(&directories->list, added) ? 0 : -ENOMEM;
}

/* Finds the directories of the regions, and those that were given: a spare has regions alone. */
static int find_directories(struct session_directories *directories, const struct region *regions,
                            uint32_t count, const struct beside_regions *beside)
{
	int status = 0;

	for (uint32_t i = 0; i < count && status == 0; i++) {
		const char *path = regions[i].path, *base = gg_path_base(path);

		if (base > path)
			status = add_directory(directories, path, (size_t)(base - path),
			                       regions[i].directory);
		else
			status = add_directory(directories, ".", 1, regions[i].directory);
	}
	for (int i = 0; i < beside->path_count && status == 0; i++)
		if (gg_region_list_is_directory(beside->paths[i]))
			status = add_directory(directories, beside->paths[i],
			                       strlen(beside->paths[i]),
			                       file_id_at(AT_FDCWD, beside->paths[i]));
	return status;
}

/* Returns the time of the program of a region, whose lines may come a little after its end. */
static struct gg_collections_program program_of(const struct region *region, int64_t owner)
{
	const struct gg_region_header *header = &region->header;
	uint64_t end_ns = header->end_monotonic_ns;

	return (struct gg_collections_program){
		.process = region->process,
		.pid = header->pid,
		.start_ticks = header->process_start_ticks,
		.region_ns = header->start_monotonic_ns,
		/* A forked child may collect before its first sample, which creates its region. */
		.from_ns = header->fork_ns != 0 ? header->fork_ns : header->start_monotonic_ns,
		.to_ns = end_ns != 0 ? end_ns + LAST_LINE_NS : UINT64_MAX,
		.session_zero_ns = region->session_zero_ns,
		.owner = owner,
	};
}

struct collections_programs {
	GG_ARRAY(struct gg_collections_program) list;
};

/* Finds the programs of the regions in a directory, and of those in its spare. */
static int find_programs(struct collections_programs *programs, const struct region *regions,
                         uint32_t count, const struct session_directory *directory, int fd)
{
	struct file_id spare = file_id_at(fd, GG_SESSION_NEXT);

	for (uint32_t i = 0; i < count; i++) {
		int64_t owner = -1;
		struct stat file;

		if (!is_same_file(regions[i].directory, directory->id) &&
		    (spare.inode == 0 || !is_same_file(regions[i].directory, spare)))
			continue;
		if (stat(regions[i].path, &file) == 0)
			owner = (int64_t)file.st_uid;
		if (!gg_array_push(&programs->list, program_of(&regions[i], owner)))
			return -ENOMEM;
	}
	return 0;
}

/* Opens the directory.  -1: it went after its regions were read; otherwise -ENOMEM. */
static int open_directory(struct gg_profile_writer *writer,
                          const struct session_directory *directory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

	gg_buf_append(&path, directory->path, directory->length);
	if (directory->length == 0) /* of "/x.region" */
		gg_buf_append_text(&path, "/");
	if (path.failed) {
		gg_profile_writer_keep(writer, gg_error_memory(writer->error, "salvage"));
		return -1;
	}
	return open(gg_buf_text(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Notes which blocks children without a region may hold. */
static void note_forks(struct gg_profile_writer *writer, const struct gg_noted_fork_counts *counts)
{
	if (counts->child_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu forked process%s had no region.  Blocks that their parents freed or "
			"left count in upper ends, because nobody knows when the children ended.",
			(unsigned long long)counts->child_count,
			counts->child_count == 1 ? "" : "es");
	if (counts->orphan_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu forked process%s may hold blocks of processes whose regions are "
			"gone: not in this profile.  The recorder's own profile has them.",
			(unsigned long long)counts->orphan_count,
			counts->orphan_count == 1 ? "" : "es");
}

static int add_collections(struct gg_profile_writer *writer, const struct region *regions,
                           uint32_t count, const struct session_directory *directory, int fd,
                           int64_t *end_ns)
{
	struct collections_programs programs = { 0 };
	int status = find_programs(&programs, regions, count, directory, fd);

	if (status < 0)
		status = gg_error_memory(writer->error, "salvage");
	else
		status = gg_collections_write(writer, fd, programs.list.items, programs.list.count,
		                              end_ns);
	gg_array_done(&programs.list);
	return status;
}

/*
 * Adds what garbage collectors of the processes noted, and children that noted their forks.
 * Directories may be of different sessions, machines and boots, so a line belongs to a process of
 * the same directory, and has its clock.
 */
static int add_session_files(struct gg_profile_writer *writer, struct gg_target_set *set,
                             const struct region *regions, uint32_t count,
                             const struct beside_regions *beside, int64_t *end_ns)
{
	struct session_directories directories = { 0 };
	int status = find_directories(&directories, regions, count, beside);
	struct gg_noted_fork_counts forks = { 0 };

	if (status < 0)
		status = gg_error_memory(writer->error, "salvage");
	for (size_t i = 0; i < directories.list.count && status == 0; i++) {
		const struct session_directory *directory = &directories.list.items[i];
		int fd = open_directory(writer, directory);

		if (fd < 0)
			continue;
		status = add_collections(writer, regions, count, directory, fd, end_ns);
		if (status == 0)
			status = gg_noted_forks_write(writer, &set->lineage, fd, &forks);
		close(fd);
	}
	note_forks(writer, &forks);
	gg_array_done(&directories.list);
	return status == 0 ? writer->status : status;
}

/*
 * Adds regions, sorted by their starts, to an empty profile.  `beside`: also what is beside them;
 * NULL: only regions.
 */
static int add_regions(struct gg_profile *profile, struct region *regions, uint32_t count,
                       const struct beside_regions *beside, bool has_looks,
                       const struct gg_progress *progress, struct gg_salvage *ret_salvage,
                       struct gg_error *error)
{
	const struct gg_region_header *first = &regions[0].header;
	char *command = command_of(first);
	struct gg_profile_session session = {
		.command = command,
		.geiger = GG_VERSION,
		.start_wall_ns = first->start_wall_ns,
		.end_ns = 0,
		.interval_bytes = (double)first->control.interval_bytes,
		.exit_status = -1,
		.has_history = gg_region_is_exact(first), /* at least the peak and the end */
		.scheme = gg_region_is_exact(first) ? GG_SCHEME_EXACT : GG_SCHEME_POISSON,
	};
	char why[GG_SALVAGE_WHY_MAX] = "";
	struct gg_target_set set = { 0 };
	struct gg_profile_writer writer;
	uint64_t native_count;
	int status = gg_profile_writer_init(&writer, profile, first->start_monotonic_ns, error);

	writer.progress = progress;
	for (uint32_t i = 0; status == 0 && i < count; i++) {
		uint64_t last_ns = 0;
		int64_t end_ns;

		align(&writer, &session, first->start_monotonic_ns, &regions[i].header);
		status = add_region(&writer, &set, regions, i,
		                    beside != NULL && beside->runtimes.runtimes.count > 0,
		                    has_looks, &last_ns, error);
		end_ns = gg_profile_writer_time(&writer, last_ns);
		session.end_ns = end_ns > session.end_ns ? end_ns : session.end_ns;
	}
	if (status == 0 && beside != NULL)
		status = bound_ends(&writer, regions, count, session.end_ns);
	for (uint32_t i = 0; i < count; i++) {
		free((char *)regions[i].killed.exe);
		free((char *)regions[i].killed.command);
	}
	native_count = writer.counts.sample_count;
	if (status == 0 && beside != NULL)
		status = add_session_files(&writer, &set, regions, count, beside, &session.end_ns);
	if (status == 0 && beside != NULL)
		status = add_runtimes(&writer, &beside->runtimes, first, &session.end_ns);
	if (status == 0)
		status = gg_notes_add_losses(&writer);
	if (status == 0)
		status = note_what_is_missing(&writer, regions, count, why);
	if (status == 0)
		status = gg_profile_set_session(profile, &session, error);
	if (status == 0)
		status = gg_profile_writer_commit(&writer);
	if (ret_salvage != NULL) {
		*ret_salvage = (struct gg_salvage){
			.region_count = count,
			.sample_count = native_count,
			.runtime_count = beside != NULL ? (uint32_t)beside->runtimes.runtimes.count
			                                : 0,
			.managed_sample_count = writer.counts.sample_count - native_count,
		};
		memcpy(ret_salvage->why, why, sizeof(why));
	}
	gg_target_set_done(&set);
	gg_profile_writer_done(&writer);
	free(command);
	return status;
}

/* Reads the head only: sorting by start needs no more, and the tables may be large. */
static int read_region(struct region *region, const char *path, struct gg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	status = gg_region_header_read(&region->header, fd, path, error);
	close(fd);
	if (status < 0)
		return status;
	region->path = strdup(path);
	return region->path != NULL ? 0 : gg_error_memory(error, path);
}

/* Finds the directory of a region, by whatever path it was given. */
static int find_directory(struct region *region)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

	gg_buf_append(&path, region->path, (size_t)(gg_path_base(region->path) - region->path));
	if (path.failed)
		return -ENOMEM;
	region->directory = file_id_at(AT_FDCWD, path.length > 0 ? gg_buf_text(&path) : ".");
	return 0;
}

int gg_region_profile_load(struct gg_profile **ret_profile, const char *path,
                           const struct gg_progress *progress, struct gg_error *error)
{
	struct gg_symbol_options options = { .progress = progress };
	struct gg_profile *profile = NULL;
	struct region region = { 0 };
	struct gg_symbolize_result symbols;
	int status = read_region(&region, path, error);

	options.start_monotonic_ns = region.header.start_monotonic_ns;
	if (status == 0)
		status = gg_profile_create(&profile, NULL, error);
	if (status == 0)
		status = add_regions(profile, &region, 1, NULL, true, progress, NULL, error);
	if (status == 0)
		status = gg_symbolize(profile, &options, &symbols, error);
	free(region.path);
	if (status == 0)
		*ret_profile = profile;
	else
		gg_profile_close(profile);
	return status;
}

int gg_region_profile_open(struct gg_profile **ret_profile, const char *path,
                           const struct gg_progress *progress, struct gg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint64_t magic = 0;
	bool is_region;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	is_region = pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	            magic == GG_REGION_MAGIC;
	close(fd);
	if (is_region)
		return gg_region_profile_load(ret_profile, path, progress, error);
	return gg_profile_open(ret_profile, path, error);
}

/* A profile that a recorder still writes is opened as it is: only its recorder may complete it. */
int gg_region_profile_open_complete(struct gg_profile **ret_profile, const char *path,
                                    const struct gg_progress *progress, struct gg_error *error)
{
	struct gg_profile *profile;
	int status = gg_region_profile_open(&profile, path, progress, error);

	if (status < 0)
		return status;
	if (gg_unfinished_profile(profile, path))
		status = gg_unfinished_profile_complete(&profile, progress, error);
	if (status < 0)
		gg_profile_close(profile);
	else
		*ret_profile = profile;
	return status;
}

/* --- salvage: several regions --- */

struct regions {
	GG_ARRAY(struct region) list;
	struct beside_regions beside;
	struct gg_error *error;
};

static int add_path(struct regions *regions, const char *path)
{
	struct region *added = gg_array_add(&regions->list);
	int status;

	if (added == NULL)
		return gg_error_memory(regions->error, path);
	status = read_region(added, path, regions->error);
	if (status == 0 && find_directory(added) < 0) {
		free(added->path);
		status = gg_error_memory(regions->error, path);
	}
	if (status < 0)
		regions->list.count--;
	return status;
}

static int add_listed(const struct gg_listed_region *file, void *context)
{
	return file->kind == GG_LISTED_REGION_WHOLE ? add_path(context, file->path) : 0;
}

/* True if the file was written last before this boot, as far as the wall clock can tell. */
static bool is_of_earlier_boot(const char *path)
{
	uint64_t boot_ns = gg_clock_wall_ns() - gg_clock_boot_ns();
	struct stat file;

	return lstat(path, &file) == 0 && (uint64_t)file.st_mtim.tv_sec < boot_ns / GG_NS_PER_S;
}

/*
 * The times of a stream are those of this boot's clock.  A stream of an earlier boot would get
 * wrong times, and perhaps the region of another process that has its pid now.
 */
static int add_stream(const char *path, uint32_t pid, void *context)
{
	struct regions *regions = context;
	struct beside_regions *beside = &regions->beside;
	struct file_id id = file_id_at(AT_FDCWD, path);

	/* Two of the given directories may be the same. */
	for (size_t i = 0; i < beside->streams.count; i++)
		if (is_same_file(beside->streams.items[i], id))
			return 0;
	if (!gg_array_push(&beside->streams, id))
		return gg_error_memory(regions->error, path);
	if (is_of_earlier_boot(path)) {
		regions->beside.runtimes.old_count++;
		return 0;
	}
	return gg_diagnostic_port_add_file(&regions->beside.runtimes, path, (pid_t)pid,
	                                   regions->error);
}

/* Compares wall times, which also order regions of different boots, then the exact clocks. */
static int compare_starts(const void *a, const void *b)
{
	const struct gg_region_header *left = &((const struct region *)a)->header;
	const struct gg_region_header *right = &((const struct region *)b)->header;

	if (left->start_wall_ns != right->start_wall_ns)
		return left->start_wall_ns < right->start_wall_ns ? -1 : 1;
	if (left->start_monotonic_ns != right->start_monotonic_ns)
		return left->start_monotonic_ns < right->start_monotonic_ns ? -1 : 1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return 0;
}

static bool is_same_process(const struct gg_region_header *a, const struct gg_region_header *b)
{
	return a->start_wall_ns == b->start_wall_ns &&
	       a->start_monotonic_ns == b->start_monotonic_ns && a->pid == b->pid;
}

/* How far the process was: the samples and frees, or counts, that its file has.  0: unreadable. */
static uint64_t progress_of(const struct region *region)
{
	struct gg_error ignored = { 0 };
	struct gg_region_view view;
	uint64_t sum;

	if (gg_region_view_open(&view, region->path, &ignored) < 0)
		return 0;
	sum = view.header.counters[GG_COUNT_SAMPLES] + view.header.counters[GG_COUNT_FREES] +
	      view.header.counters[GG_COUNT_MISSED_FREES];
	gg_region_view_done(&view);
	return sum;
}

/*
 * True if the file has a later state of the process than another one.  The head alone does not
 * tell, because samples are counted when a region is read whole.
 */
static bool is_later(const struct region *region, const struct region *than)
{
	bool has_ended = region->header.end_monotonic_ns != 0;

	if (has_ended != (than->header.end_monotonic_ns != 0))
		return has_ended;
	return progress_of(region) > progress_of(than);
}

/*
 * Sorts the regions by their starts.  A process may have several files: one that was given twice,
 * copies, and snapshots.  The sum would have its samples several times, so the latest state alone
 * stays.  Returns how many files went.
 */
static uint32_t sort_regions(struct regions *regions)
{
	struct region *items = regions->list.items;
	size_t kept_count = 0, count = regions->list.count;

	if (count == 0)
		return 0;
	qsort(items, count, sizeof(*items), compare_starts);
	for (size_t i = 0; i < count; i++) {
		struct region *last = kept_count > 0 ? &items[kept_count - 1] : NULL;

		if (last == NULL || !is_same_process(&last->header, &items[i].header)) {
			items[kept_count++] = items[i];
		} else if (is_later(&items[i], last)) {
			free(last->path);
			*last = items[i];
		} else {
			free(items[i].path);
		}
	}
	regions->list.count = kept_count;
	return (uint32_t)(count - kept_count);
}

/* Reads the heads of all regions in the given files and directories. */
static int collect(struct regions *regions, char *const *paths, int count)
{
	int status = 0;

	for (int i = 0; status == 0 && i < count; i++) {
		size_t before = regions->list.count;

		if (!gg_region_list_is_directory(paths[i])) {
			status = add_path(regions, paths[i]);
			continue;
		}
		status = gg_region_list_each(&paths[i], 1, add_listed, regions, regions->error);
		if (status == 0)
			status = gg_region_list_each_stream(&paths[i], 1, add_stream, regions,
			                                    regions->error);
		if (status == 0 && regions->list.count == before)
			status = gg_error_set(regions->error, -ENOENT, paths[i],
			                      "'geiger ls' lists the regions of this machine.",
			                      "there is no region in it");
	}
	return status;
}

int gg_region_profile_salvage(char *const *paths, int count, const char *output,
                              const struct gg_progress *progress, struct gg_salvage *ret_salvage,
                              struct gg_error *error)
{
	const struct gg_symbol_options options = { .progress = progress };
	struct regions regions = {
		.beside = { .runtimes = GG_DIAGNOSTIC_PORT_NONE,
		            .paths = paths,
		            .path_count = count },
		.error = error,
	};
	struct gg_symbolize_result symbols;
	struct gg_profile *profile = NULL;
	uint32_t repeated_count = 0;
	int status = collect(&regions, paths, count);

	if (status == 0) {
		repeated_count = sort_regions(&regions);
		status = gg_profile_create(&profile, output, error);
	}
	if (status == 0)
		status = add_regions(profile, regions.list.items, (uint32_t)regions.list.count,
		                     &regions.beside, true, progress, ret_salvage, error);
	if (status == 0)
		status = gg_symbolize(profile, &options, &symbols, error);
	if (status == 0) {
		gg_profile_report_progress(profile, progress);
		status = gg_profile_finish(profile, error);
	}
	gg_profile_close(profile);
	if (status == 0)
		ret_salvage->repeated_count = repeated_count;
	for (uint32_t i = 0; i < regions.list.count; i++)
		free(regions.list.items[i].path);
	gg_array_done(&regions.list);
	gg_array_done(&regions.beside.streams);
	gg_diagnostic_port_done(&regions.beside.runtimes, false);
	return status;
}

int gg_region_profile_load_several(struct gg_profile **ret_profile, char *const *paths, int count,
                                   double symbol_seconds, struct gg_error *error)
{
	const struct gg_symbol_options options = { .offline = true,
		                                   .limit_seconds = symbol_seconds };
	struct regions regions = { .error = error };
	struct gg_symbolize_result symbols;
	struct gg_profile *profile = NULL;
	int status = 0;

	for (int i = 0; status == 0 && i < count; i++) {
		status = add_path(&regions, paths[i]);
		if (status == -ENOENT || status == -EBADMSG) { /* the file went, or is no region */
			*error = (struct gg_error){ 0 };
			status = 0;
		}
	}
	if (status == 0 && regions.list.count == 0)
		status = gg_error_set(error, -ENOENT, "regions", NULL, "all of them are gone");
	if (status == 0) {
		sort_regions(&regions);
		status = gg_profile_create(&profile, NULL, error);
	}
	if (status == 0)
		status = add_regions(profile, regions.list.items, (uint32_t)regions.list.count,
		                     NULL, false, NULL, NULL, error);
	if (status == 0)
		status = gg_symbolize(profile, &options, &symbols, error);
	for (uint32_t i = 0; i < regions.list.count; i++)
		free(regions.list.items[i].path);
	gg_array_done(&regions.list);
	if (status == 0)
		*ret_profile = profile;
	else
		gg_profile_close(profile);
	return status;
}
