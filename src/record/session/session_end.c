/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_end - completes the profile of a session, and prints the last line.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/printable.h"
#include "profile/packed.h"
#include "record/diagnose/diagnostics.h"
#include "record/diagnose/notes.h"
#include "record/dotnet/dotnet_samples.h"
#include "record/process/collections.h"
#include "record/process/idle_children.h"
#include "record/process/new_regions.h"
#include "record/session/session.h"
#include "record/session/session_state.h"
#include "record/symbols/symbolize.h"

/*
 * Looks up the names of all frames now, since the files that ran still exist.  The samples are
 * committed already, so nothing is lost if this is interrupted.
 */
static int name_frames(struct gg_session *s)
{
	struct gg_symbol_options options = { .progress = s->options->progress,
		                             .start_monotonic_ns = s->writer.start_ns };
	struct gg_symbolize_result result;
	char root[32];
	int status;

	/* The files of a container are in its own root, which may outlive its processes. */
	snprintf(root, sizeof(root), "/proc/self/fd/%d", s->root_fd);
	if (s->root_fd >= 0)
		options.sysroot = root;
	setpriority(PRIO_PROCESS, 0, 0); /* no ring waits any more */
	gg_recorder_costs_begin_children(&s->costs);
	status = gg_symbolize(s->profile, &options, &result, s->error);
	gg_recorder_costs_end_children(&s->costs);
	return status;
}

/*
 * A larger profile is left to `geiger pack`.  Packing takes two to three times its size in memory,
 * perhaps that of the program's own cgroup, and no signal ends the recorder meanwhile.
 */
#define SESSION_PACK_MOST (INT64_C(64) << 20)

/*
 * Counts of every stack at every tick are large, so such a profile is packed when its first lines
 * have been read and printed: reading a packed one takes longer than packing it.  A file that
 * cannot be packed stays as it is.
 */
static void pack(struct gg_session *s)
{
	s->packing.status = 0;
	if (s->record.scheme != GG_SCHEME_EXACT)
		return;
	(void)!gg_profile_pack_up_to(gg_buf_text(&s->path), NULL, SESSION_PACK_MOST, &s->packing);
}

static void report_packing(const struct gg_session *s)
{
	char line[GG_ERROR_LINE_MAX];

	if (s->packing.status == 0)
		return;
	gg_error_format(&s->packing, line, sizeof(line));
	fprintf(stderr, "geiger: %s\n", line);
}

/* Notes what the recorder has used, with an estimate of what is still to be done. */
static void count_costs(struct gg_session *s)
{
	double used_ns = gg_recorder_costs_at_end(&s->costs, &s->writer.counts);

	if (s->writer.counts.overhead_ppm != 0 && s->writer.status == 0)
		gg_profile_writer_keep(&s->writer,
		                       gg_profile_put_counter(s->profile, 0,
		                                              GG_PROFILE_COUNTER_RECORDER_NS,
		                                              (uint64_t)used_ns, s->error));
}

static bool is_urgent(void *context)
{
	return gg_session_take_signals(context);
}

/*
 * Completes the profile.  Runtimes of .NET may take seconds to end their streams, but the recording
 * ends now: so the rings are read before that wait.
 *
 * The region files go last: until gg_profile_finish() has succeeded, `geiger salvage` can make a
 * profile of them.
 */
int gg_session_complete(struct gg_session *s)
{
	s->writer.now_ns = gg_session_now(s);
	s->writer.progress = s->options->progress;
	gg_profile_report_progress(s->profile, s->options->progress);
	/* The scan finds the regions of all children that it has read of, if they have any. */
	gg_idle_children_read(&s->processes);
	gg_new_regions_scan(&s->processes);
	gg_memory_readings_end(&s->memory, &s->processes);
	gg_diagnostic_port_stop(&s->dotnet);
	gg_process_set_finish_all(&s->processes);
	gg_idle_children_finish(&s->processes);
	gg_collections_write_session(&s->writer, s->processes.directory.fd,
	                             &s->processes.targets.lineage);
	gg_diagnostic_port_finish(&s->dotnet, is_urgent, s);
	gg_dotnet_samples_write(&s->dotnet, &s->writer, NULL);
	gg_focus_error_note(&s->focus, &s->writer);
	gg_notes_add(&s->processes, s->options->command[0]);
	gg_profile_writer_keep(&s->writer,
	                       gg_jit_names_finish(&s->writer.jit, s->profile, s->error));
	gg_profile_writer_commit(&s->writer);
	s->record.end_ns = s->writer.now_ns;
	s->record.exit_status = s->command_ended && s->options->pid == 0 ? s->exit_status : -1;
	gg_profile_writer_keep(&s->writer,
	                       gg_profile_set_session(s->profile, &s->record, s->error));
	if (s->writer.status == 0 && !s->options->no_symbols)
		gg_profile_writer_keep(&s->writer, name_frames(s));
	count_costs(s);
	if (s->writer.status == 0)
		gg_profile_writer_keep(&s->writer, gg_profile_finish(s->profile, s->error));
	gg_process_set_let_go(&s->processes, s->writer.status == 0);
	if (s->writer.status == 0)
		gg_process_set_committed(&s->processes);
	gg_profile_close(s->profile);
	s->profile = NULL;
	gg_progress_end(s->options->progress);
	return s->writer.status;
}

/* Prints a session's directory as a shell of this machine can reach it. */
static void print_outer(const struct gg_session *s, const struct gg_session_directory *directory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

	if (s->root_fd < 0)
		gg_buf_append_text(&path, directory->outer);
	else
		gg_buf_printf(&path, "/proc/%d/root%.*s", (int)s->options->pid,
		              (int)(strlen(directory->name) -
		                    (strlen(directory->path) - strlen(directory->outer))),
		              directory->name);
	fprintf(stderr, " %s", GG_PRINTABLE(gg_buf_text(&path)));
}

void gg_session_report(struct gg_session *s)
{
	const struct gg_session_options *options = s->options;
	char line[GG_ERROR_LINE_MAX], advice[GG_DIAGNOSTIC_MAX];

	if (s->writer.status < 0) {
		gg_error_format(s->error, line, sizeof(line));
		fprintf(stderr,
		        "geiger: the profile is not complete: %s\n"
		        "geiger: its processes go on in their regions; when they have ended: geiger "
		        "salvage",
		        line);
		for (const struct gg_session_directory *d = &s->processes.directory; d != NULL;
		     d = d->spare)
			if (d == &s->processes.directory || gg_session_directory_has_region(d))
				print_outer(s, d);
		fputc('\n', stderr);
		return;
	}
	if (options->completed != NULL)
		options->completed(gg_buf_text(&s->path), options->context);
	pack(s);
	if (!options->quiet) {
		gg_notes_print_summary(&s->processes, gg_buf_text(&s->path), options->command[0]);
		report_packing(s);
	}
	if (options->closed == NULL)
		return;
	gg_diagnostics_advice(&s->processes.findings, &s->writer, options->command[0], advice);
	options->closed(advice, options->context);
}
