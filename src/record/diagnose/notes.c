/* SPDX-License-Identifier: Apache-2.0 */
/* notes - writes the session's notes into the profile, and prints the last line. */
#include "record/diagnose/notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/percent.h"
#include "base/printable.h"
#include "base/size.h"
#include "record/diagnose/diagnostics.h"

#define HOOKS_PART 0.8 /* of the overhead to hold: hooks of this size leave samples little */

enum {
	LINES_MAX = 20, /* notes from the log: many processes may write the same line */
	LOG_MAX = 8192, /* bytes of the log that are read */
	MISSING_TEXT_MAX = GG_DIAGNOSTIC_MAX + 200 /* a reason, and numbers around it */
};

/* Reads the log into which agents write their messages; it cuts off text beyond `size`. */
static void read_log(const struct gg_process_set *set, char *text, size_t size)
{
	int fd = openat(set->directory.fd, GG_SESSION_DIRECTORY_LOG,
	                O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t length = fd >= 0 ? read(fd, text, size - 1) : 0;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
}

/* An agent that has no region writes: geiger[PID]: not profiling: WHY. */
static const char not_profiling[] = "]: not profiling: ";

/*
 * Adds the first LINES_MAX lines of the log as notes.  `is_counted`: a note has the number of
 * processes without a region already, so their lines are left out.
 */
static void add_log(struct gg_process_set *set, char *text, bool is_counted)
{
	char *line = text, *end;
	int count = 0;

	for (; count < LINES_MAX && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		if (is_counted && strstr(line, not_profiling) != NULL)
			continue;
		gg_profile_writer_note(set->writer, "%s", line);
		count++;
	}
}

/*
 * Finds the first reason in the log why a process has no region; "": the log has no such reason.
 * It skips missing space and sanitizers, which have their own counts and texts.
 */
static void find_reason(const char *log, char *reason, size_t size)
{
	const char *at = log;

	reason[0] = '\0';
	while ((at = strstr(at, not_profiling)) != NULL) {
		int length;

		at += strlen(not_profiling);
		length = (int)strcspn(at, "\n");
		snprintf(reason, size, "%.*s", length, at);
		if (strstr(reason, "no space left") == NULL && strstr(reason, "sanitizer") == NULL)
			return;
		reason[0] = '\0';
	}
}

/* If no process has a region, the first line of the log becomes the hint: geiger[PID]: WHY. */
static void take_reason(struct gg_process_set *set, const char *text)
{
	const char *why = strstr(text, "]: ");
	size_t length = why != NULL ? strcspn(why + 3, "\n") : 0;

	if (set->writer->counts.process_count == 0 && set->findings.hint[0] == '\0' && length > 0)
		snprintf(set->findings.hint, sizeof(set->findings.hint), "%.*s", (int)length,
		         why + 3);
}

/* Writes how many processes have no region, and why.  False: each process has one. */
static bool tell_missing(const struct gg_process_set *set, const char *log, char *text, size_t size)
{
	uint64_t child_count = set->writer->counts.lost_child_count, count, others;
	struct gg_session_directory_missing missing;
	char reason[GG_DIAGNOSTIC_MAX];

	gg_session_directory_missing(&set->directory, &missing);
	/*
	 * Forked children are counted twice: in their parents' regions, and in a file of the
	 * session's directory.  A child in a sandbox cannot write that file, and a parent without a
	 * region cannot count, so the larger number is closer.
	 */
	if (child_count < missing.fork_count)
		child_count = missing.fork_count;
	count = missing.program_count + child_count;
	if (count == 0)
		return false;
	others = count - missing.without_space_count;
	find_reason(log, reason, sizeof(reason));
	if (reason[0] == '\0')
		snprintf(reason, sizeof(reason),
		         "no place, no permission, no descriptor, or a sandbox");
	if (others == 0)
		snprintf(text, size, "%llu process%s missing: there was no space for %s",
		         (unsigned long long)count, count == 1 ? " is" : "es are",
		         count == 1 ? "its region" : "their regions");
	else if (missing.without_space_count > 0)
		snprintf(text, size,
		         "%llu processes are missing: for %llu there was no space, %llu could "
		         "have no region (%s)",
		         (unsigned long long)count, (unsigned long long)missing.without_space_count,
		         (unsigned long long)others, reason);
	else
		snprintf(text, size, "%llu process%s missing: %s could have no region (%s)",
		         (unsigned long long)count, count == 1 ? " is" : "es are",
		         count == 1 ? "it" : "they", reason);
	return true;
}

/* Writes how many programs were built with a sanitizer.  False: there is no such program. */
static bool tell_sanitizers(const struct gg_process_set *set, char *text, size_t size)
{
	struct gg_session_directory_missing missing;

	gg_session_directory_missing(&set->directory, &missing);
	if (missing.sanitizer_count == 0)
		return false;
	snprintf(text, size,
	         "%llu program%s built with a sanitizer, which is the allocator then, and ran "
	         "unprofiled",
	         (unsigned long long)missing.sanitizer_count,
	         missing.sanitizer_count == 1 ? " was" : "s were");
	return true;
}

/*
 * States the cost of hooks, which no interval changes, if it is nearly the overhead to hold.  The
 * head of a report has the figures.
 */
static void add_overhead(struct gg_profile_writer *writer)
{
	const struct gg_session_counts *counts = &writer->counts;
	double program_ns = (double)counts->program_ns;
	double hooks = (double)counts->hooks_ns / program_ns;
	double asked = counts->overhead_ppm * 1.0 / GG_PPM;
	char text[GG_PERCENT_TEXT_MAX];

	if (counts->program_ns == 0 || counts->overhead_ppm == 0 || hooks < HOOKS_PART * asked)
		return;
	gg_profile_writer_note(
		writer,
		"Overhead: hooks alone take %.2g %% of the program's own processor time, by the "
		"number of its allocations; the overhead to hold is %s.  No interval makes hooks "
		"cheaper.  An allocator that samples by itself has none: libgeiger-malloc, "
		"--malloc where geiger record has it (docs/MALLOC.md).",
		100 * hooks, gg_percent_format(counts->overhead_ppm, text));
}

int gg_notes_add_losses(struct gg_profile_writer *writer)
{
	add_overhead(writer);
	if (writer->counts.biased_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu samples are of a sampler that is known not to keep to its scheme.  "
			"So figures with them have no confidence intervals.  That of Java VMs "
			"before JDK 25 is one (JDK-8356372): where a thread allocates large arrays "
			"between small objects, small ones count up to 42 %% too much and large "
			"ones up to 21 %% too little.",
			(unsigned long long)writer->counts.biased_count);
	if (writer->counts.dropped_event_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu events of the history were lost, because the ring was full.  Totals "
			"and live memory do not depend on them.  Times of some samples are known "
			"between two bounds alone, and figures of moments, windows and lifetimes "
			"count them in their upper ends.",
			(unsigned long long)writer->counts.dropped_event_count);
	if (writer->counts.dropped_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu samples or frees were not recorded: a table was full, or a thread "
			"interrupted itself.  Figures are lower bounds (\"at least\").  The "
			"counters of each process tell which.",
			(unsigned long long)writer->counts.dropped_count);
	if (writer->counts.damaged_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu records of regions were damaged and left out: a program wrote into "
			"memory that was not its own, or wanted to mislead.",
			(unsigned long long)writer->counts.damaged_count);
	if (writer->counts.unseen_child_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu forked process%s ended or went on without sampling or freeing a "
			"block.  Blocks that %s may have inherited count in upper ends until then, "
			"where their parent did not hold them so long.",
			(unsigned long long)writer->counts.unseen_child_count,
			writer->counts.unseen_child_count == 1 ? "" : "es",
			writer->counts.unseen_child_count == 1 ? "it" : "they");
	if (writer->counts.unnoted_child_count > 0)
		gg_profile_writer_note(
			writer,
			"%llu forked process%s could neither be watched nor make a region (no "
			"place, no permission, no descriptor, or a sandbox).  Blocks that their "
			"parents freed after the forks count in upper ends until the end.",
			(unsigned long long)writer->counts.unnoted_child_count,
			writer->counts.unnoted_child_count == 1 ? "" : "es");
	if (writer->counts.shared_count > 0)
		gg_profile_writer_note(
			writer,
			"%u forked process%s freed blocks that may be inherited: what is "
			"allocated has them in its upper end alone.",
			writer->counts.shared_count, writer->counts.shared_count == 1 ? "" : "es");
	return writer->status;
}

static int find_pypy(const struct gg_profile_module *module, void *context)
{
	static const char pypy[] = "libpypy";
	bool *is_found = context;

	*is_found |= module->path != NULL &&
	             strncmp(gg_path_base(module->path), pypy, sizeof(pypy) - 1) == 0;
	return 0;
}

/* Notes what PyPy's collector keeps for itself, unless the program has it report. */
static void note_pypy(struct gg_profile_writer *writer)
{
	bool is_found = false;

	if (writer->counts.collections_count > 0 || writer->status < 0)
		return;
	gg_profile_writer_keep(writer, gg_profile_each_module(writer->profile, find_pypy, &is_found,
	                                                      writer->error));
	if (is_found)
		gg_profile_writer_note(
			writer, "PyPy's garbage collector takes arenas from malloc, and this "
				"profile does not show the objects in them. 'geiger record "
				"pypy3 -m geiger PROGRAM' also records its collections. "
				"gc.dump_rpy_heap(\"heap.dump\") in the program and 'geiger "
				"import heap.dump' show live objects by type.");
}

int gg_notes_add(struct gg_process_set *set, const char *command)
{
	struct gg_profile_writer *writer = set->writer;
	char why[MISSING_TEXT_MAX], log[LOG_MAX];
	bool has_missing, has_sanitizer;

	read_log(set, log, sizeof(log));
	take_reason(set, log);
	has_missing = tell_missing(set, log, why, sizeof(why));
	if (has_missing)
		gg_profile_writer_note(writer, "%s.  Figures are without them.", why);
	has_sanitizer = tell_sanitizers(set, why, sizeof(why));
	if (has_sanitizer)
		gg_profile_writer_note(writer, "%s.", why);
	note_pypy(writer);
	gg_notes_add_losses(writer);
	/* A hint comes from a note or from the log, so the profile has it already. */
	if (gg_diagnostics_of_session(&set->findings, set->writer, command, set->command_ending,
	                              why) &&
	    set->findings.hint[0] == '\0')
		gg_profile_writer_note(writer, "%s: %s.",
		                       writer->counts.taken_count == 0 ? "Nothing was sampled"
		                                                       : "Not all can be seen",
		                       why);
	add_log(set, log, has_missing || has_sanitizer);
	return writer->status;
}

/* A terminal would break one long line in the middle of words; scripts read one line. */
static const char *separator(void)
{
	return isatty(STDERR_FILENO) ? "\ngeiger: " : "; ";
}

/* Prints losses by their effect on the figures, because the ring means nothing to the user. */
static void print_losses(const struct gg_profile_writer *writer)
{
	if (writer->counts.untimed_count > 0)
		fprintf(stderr, "%stimes of %llu sample%s were lost: %llu event%s had no place",
		        separator(), (unsigned long long)writer->counts.untimed_count,
		        writer->counts.untimed_count == 1 ? "" : "s",
		        (unsigned long long)writer->counts.dropped_event_count,
		        writer->counts.dropped_event_count == 1 ? "" : "s");
	if (writer->counts.dropped_count > 0)
		fprintf(stderr, "%sat least %llu sample%s or frees were not recorded", separator(),
		        (unsigned long long)writer->counts.dropped_count,
		        writer->counts.dropped_count == 1 ? "" : "s");
}

void gg_notes_print_summary(const struct gg_process_set *set, const char *path, const char *command)
{
	const struct gg_profile_writer *writer = set->writer;
	/* The number in reports, which leaves out inherited blocks without an ancestor's sample. */
	uint64_t sample_count = writer->counts.sample_count - writer->counts.orphan_count +
	                        writer->counts.aggregated_sample_count;
	char why[GG_DIAGNOSTIC_MAX], missing[MISSING_TEXT_MAX] = "", log[LOG_MAX];
	bool has_missing, has_why = gg_diagnostics_of_session(&set->findings, set->writer, command,
	                                                      set->command_ending, why);

	read_log(set, log, sizeof(log));
	has_missing = tell_missing(set, log, missing, sizeof(missing));
	if (writer->counts.taken_count == 0) {
		fprintf(stderr, "geiger: wrote %s: nothing was sampled: %s%s%s\n",
		        GG_PRINTABLE(path), GG_PRINTABLE(why), has_missing ? separator() : "",
		        GG_PRINTABLE(missing));
		return;
	}
	if (writer->counts.exact_count > 0)
		fprintf(stderr, "geiger: wrote %s: exact: %llu allocation%s", GG_PRINTABLE(path),
		        (unsigned long long)writer->counts.exact_count,
		        writer->counts.exact_count == 1 ? "" : "s");
	else
		fprintf(stderr, "geiger: wrote %s: %llu sample%s", GG_PRINTABLE(path),
		        (unsigned long long)sample_count, sample_count == 1 ? "" : "s");
	fprintf(stderr, " of %u process%s in %.1f s", writer->counts.process_count,
	        writer->counts.process_count == 1 ? "" : "es", (double)writer->now_ns * 1e-9);
	print_losses(writer);
	if (has_missing)
		fprintf(stderr, "%s%s", separator(), GG_PRINTABLE(missing));
	if (has_why)
		fprintf(stderr, "%s%s", separator(), GG_PRINTABLE(why));
	fputc('\n', stderr);
}
