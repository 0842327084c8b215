/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostics - explains why a profile is empty or has less than the user may expect.
 *
 * An explanation must be true, because it sends the user on a search.  So each one needs evidence:
 * the program's file (preloadable.h), the kernel's figures of the process, or the sampling
 * interval.
 */
#include "record/diagnose/diagnostics.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/path.h"
#include "base/size.h"
#include "record/diagnose/agent_presence.h"
#include "record/diagnose/preloadable.h"
#include "record/process/ingest.h"
#include "record/session/launch.h"
#include "stats/estimate/interval.h"

enum { HINTS_MAX = 20 };

#define CONFIDENCE 0.95

/* Anonymous memory that needs no explanation: stacks, relocated data, the agent's own tables. */
#define OTHER_BYTES 16e6

/* Adds a note to the profile, up to HINTS_MAX.  The first one becomes the hint of the last line. */
static void GG_PRINTF(3, 4) tell(struct gg_findings *findings, struct gg_profile_writer *writer,
                                 const char *format, ...)
{
	char text[GG_DIAGNOSTIC_MAX];
	va_list values;

	if (findings->hint_count++ >= HINTS_MAX)
		return;
	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	gg_profile_writer_note(writer, "%s.", text);
	if (findings->hint[0] == '\0')
		snprintf(findings->hint, sizeof(findings->hint), "%s", text);
}

/*
 * Keeps the advice about the first explanation, which is the hint of the last line.  The
 * advice is about the program `exe`, and may be NULL.
 */
static void advise(struct gg_findings *findings, const char *exe, const char *advice)
{
	if (findings->hint_count == 1 && findings->advice[0] == '\0' && advice != NULL)
		snprintf(findings->advice, sizeof(findings->advice), "to see all of %s: %s",
		         gg_path_base(exe), advice);
}

/* --- another program --- */

/* True if the process is known to have another root directory than the recorder. */
static bool has_other_root(uint32_t pid)
{
	struct stat ours, its;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/root/.", pid);
	return stat(path, &its) == 0 && stat("/", &ours) == 0 &&
	       (its.st_dev != ours.st_dev || its.st_ino != ours.st_ino);
}

void gg_diagnostics_watch(struct gg_member *member)
{
	const struct gg_region_header *header = &member->target->reader.header;
	static const char deleted[] = " (deleted)";
	char link[64], exe[GG_REGION_EXE_MAX + 1], known[GG_REGION_EXE_MAX + 1];
	struct stat now, then;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%u/exe", member->target->pid);
	length = readlink(link, exe, sizeof(exe) - 1);
	if (length <= 0 || length == sizeof(exe) - 1)
		return;
	exe[length] = '\0';
	if ((size_t)length > sizeof(deleted) &&
	    strcmp(exe + length - (sizeof(deleted) - 1), deleted) == 0)
		exe[length - (ssize_t)(sizeof(deleted) - 1)] = '\0';
	memcpy(known, header->exe, header->exe_bytes);
	known[header->exe_bytes < GG_REGION_EXE_MAX ? header->exe_bytes : GG_REGION_EXE_MAX] = '\0';
	/*
	 * The names alone prove nothing: the file may have a new name by now, or the name may
	 * belong to another root directory.  So two names count as different programs only if both
	 * files exist and differ.
	 */
	if (strcmp(exe, known) == 0 || stat(known, &then) < 0 || stat(link, &now) < 0 ||
	    (now.st_dev == then.st_dev && now.st_ino == then.st_ino))
		member->unseen_exe[0] = '\0';
	else if (strcmp(member->unseen_exe, exe) == 0) {
		if (member->names_agent && !member->is_refused)
			member->is_refused = gg_agent_presence_is_refused(member->target->pid);
	} else {
		member->is_refused = false;
		snprintf(member->unseen_exe, sizeof(member->unseen_exe), "%s", exe);
		member->has_other_root = has_other_root(member->target->pid);
		member->names_agent = gg_agent_presence_in_environment(member->target->pid);
	}
}

void gg_diagnostics_unseen_process(struct gg_findings *findings, struct gg_profile_writer *writer,
                                   uint32_t pid, const char *exe, const char *why)
{
	uint64_t key = gg_hash_bytes(exe, strlen(exe), 0);

	if (gg_map_get(&findings->unseen, key) != GG_MAP_NONE)
		return;
	if (gg_map_put(&findings->unseen, key, pid) < 0)
		gg_profile_writer_keep(writer, -ENOMEM);
	tell(findings, writer, "process %u executed %s, which is not in the profile: %s", pid, exe,
	     why);
	advise(findings, exe,
	       strstr(why, "without LD_PRELOAD") != NULL
	               ? "keep LD_PRELOAD in its environment: geiger env prints it"
	               : gg_preloadable_advice(exe));
}

/*
 * Explains why a member's program runs without the agent.  If its file gives no reason, the reason
 * is in the process: its root directory, its environment, its permissions, or an early end.
 */
static void tell_unseen(struct gg_findings *findings, const struct gg_member *member)
{
	struct gg_profile_writer *writer = member->target->writer;
	char why[GG_PRELOADABLE_WHY_MAX];

	gg_profile_writer_event(writer, member->target->id, writer->now_ns, "exec",
	                        "it executed %s, without the agent", member->unseen_exe);
	if (gg_preloadable_loads(member->unseen_exe, why)) {
		if (member->target->reader.header.attach.attached_ns != 0 && !member->names_agent)
			snprintf(why, sizeof(why),
			         "an attach ends with the program: attach again, or start it with "
			         "the agent (geiger env)");
		else if (member->has_other_root)
			snprintf(why, sizeof(why),
			         "it has another root directory (chroot, a container): put the "
			         "agent there, where LD_PRELOAD names it");
		else if (!member->names_agent)
			snprintf(why, sizeof(why),
			         "its environment was without LD_PRELOAD (env -i, sudo, su)");
		else if (member->is_refused)
			snprintf(why, sizeof(why),
			         "the loader did not load the agent: its file must be readable for "
			         "the user of that process");
		else
			snprintf(why, sizeof(why), "it ended while it started (%s)",
			         member->ending != NULL ? member->ending : "how is not known");
	}
	gg_diagnostics_unseen_process(findings, writer, member->target->pid, member->unseen_exe,
	                              why);
}

/* --- memory from elsewhere --- */

/* True if the process has its own heaps, so that the profile has more than malloc's blocks. */
static bool has_own_heaps(const struct gg_target *target)
{
	for (uint32_t i = 0; i < target->names[GG_NAME_HEAP].count; i++)
		if (target->names[GG_NAME_HEAP].items[i] != 0)
			return true;
	return false;
}

/* Returns what to do about memory that did not come from malloc. */
static const char *advice_on_memory(const char *exe, bool records_mappings)
{
	const char *advice = gg_preloadable_advice(exe);

	if (advice != NULL)
		return advice;
	if (strncmp(gg_path_base(exe), "python", 6) == 0)
		return "PYTHONMALLOC=malloc geiger record ...";
	return records_mappings ? NULL : "geiger record --mmap ...";
}

/* Returns where the memory of a program may come from that calls malloc for its blocks. */
static const char *other_memory(const char *exe, bool records_mappings)
{
	if (strncmp(gg_path_base(exe), "python", 6) == 0)
		return "Python has an allocator of its own for small objects: set "
		       "PYTHONMALLOC=malloc to see them";
	return records_mappings
	               ? "the rest is neither blocks nor recorded mappings, such as "
	                 "stacks of threads and data of the program"
	               : "the program maps memory itself, and --mmap records such mappings";
}

/*
 * Explains why malloc gave much less than the process's memory.  False: it did not.
 *
 * The kernel's maximum of anonymous memory is compared with the largest estimate of malloc's
 * blocks.  The difference counts only if malloc gave less than half and if the difference exceeds
 * OTHER_BYTES plus the most that chance can hide at this sampling interval.
 */
static bool tell_memory(struct gg_findings *findings, const struct gg_target *target)
{
	double bound = gg_interval_unseen_bytes(target->record.interval_bytes, CONFIDENCE);
	double held = (double)target->anonymous_most_bytes, given = target->chunk_most_bytes;
	const char *exe = target->record.exe != NULL ? target->record.exe : "";
	char held_text[GG_SIZE_TEXT_MAX], given_text[GG_SIZE_TEXT_MAX], why[GG_PRELOADABLE_WHY_MAX];

	/*
	 * While sampling was off, or before an attach, malloc's blocks were not counted, so nothing
	 * can be concluded.
	 */
	if (target->record.scheme == GG_SCHEME_PER_ALLOCATION || target->was_off ||
	    target->reader.header.attach.attached_ns != 0 || held - given < OTHER_BYTES + bound ||
	    held < 2 * given || has_own_heaps(target))
		return false;
	if (gg_preloadable_of(exe, why) == GG_PRELOADABLE_ALL)
		snprintf(why, sizeof(why), "%s", other_memory(exe, target->records_mappings));
	tell(findings, target->writer,
	     "process %u (%s) had %s of memory, of which malloc gave about %s: %s", target->pid,
	     gg_path_base(exe), gg_size_format(held, held_text), gg_size_format(given, given_text),
	     why);
	advise(findings, exe, advice_on_memory(exe, target->records_mappings));
	return true;
}

/*
 * Explains, once for each program, that it has its own allocator: a program that a child or a
 * script executed.  `is_told`: a note has explained this process already.
 */
static void tell_allocator(struct gg_findings *findings, const struct gg_target *target,
                           bool is_told)
{
	const char *exe = target->record.exe != NULL ? target->record.exe : "";
	uint64_t key = gg_hash_bytes(exe, strlen(exe), 0);
	char why[GG_PRELOADABLE_WHY_MAX];

	if (gg_map_get(&findings->examined, key) != GG_MAP_NONE)
		return;
	if (gg_map_put(&findings->examined, key, 0) < 0)
		gg_profile_writer_keep(target->writer, -ENOMEM);
	if (is_told || gg_preloadable_of(exe, why) != GG_PRELOADABLE_PART)
		return;
	tell(findings, target->writer, "not all of process %u (%s) can be seen: %s", target->pid,
	     gg_path_base(exe), why);
	advise(findings, exe, gg_preloadable_advice(exe));
}

void gg_diagnostics_add(struct gg_findings *findings, struct gg_member *member)
{
	struct gg_target *target = member->target;

	gg_ingest_drain(target, false); /* the pending events may raise its maximum */
	if (target->exact != NULL && gg_region_reader_refresh(&target->reader, NULL) == 0)
		/* The peak is of its own blocks; those of before a fork are malloc's as well. */
		target->chunk_most_bytes = (double)target->reader.header.exact.peak_bytes +
		                           (double)target->reader.header.exact.inherited_bytes;
	if (member->unseen_exe[0] != '\0')
		tell_unseen(findings, member);
	else
		tell_allocator(findings, target, tell_memory(findings, target));
}

/* --- the session --- */

/* Writes a sampling interval 32 times smaller, as -i takes it: "16k". */
static const char *smaller(double interval, char text[32])
{
	double less = floor(interval / 32);

	if (less >= 1024)
		snprintf(text, 32, "%.0fk", floor(less / 1024));
	else
		snprintf(text, 32, "%.0f", less > 1 ? less : 1);
	return text;
}

void gg_diagnostics_unseen(const struct gg_profile_writer *writer, char text[GG_DIAGNOSTIC_MAX])
{
	double interval = writer->counts.interval_most;
	/* The interval of a session that holds an overhead or an error varies up to that one. */
	bool is_held = writer->counts.overhead_ppm != 0 || writer->counts.error_ppm != 0;
	char bound[GG_SIZE_TEXT_MAX], size[GG_SIZE_TEXT_MAX], less[32];

	if (writer->counts.process_count > 0 &&
	    writer->counts.off_count == writer->counts.process_count)
		snprintf(text, GG_DIAGNOSTIC_MAX,
		         "sampling is switched off (GEIGER_ACTIVE=0, or "
		         "'geiger control')");
	else if (writer->counts.counts_allocations)
		snprintf(text, GG_DIAGNOSTIC_MAX,
		         "the program made at most %.0f allocations (95 %% confidence, one in %.0f "
		         "is sampled); try a smaller sampling interval: -i %s",
		         gg_interval_unseen_count(1 / interval, CONFIDENCE), interval,
		         smaller(interval, less));
	else
		snprintf(
			text, GG_DIAGNOSTIC_MAX,
			"the program allocated less than %s (95 %% confidence, sampled every %s%s); "
			"try a smaller sampling interval: -i %s",
			gg_size_format(gg_interval_unseen_bytes(interval, CONFIDENCE), bound),
			gg_size_format_short(interval, size), is_held ? " at most" : "",
			smaller(interval, less));
}

/*
 * Explains why no process has a region.  The loader exits with 127 if a library is missing, and a
 * shell exits with 126 or 127 if it cannot execute a program.
 */
static void tell_no_process(const char *ending, char text[GG_DIAGNOSTIC_MAX])
{
	if (strncmp(ending, "killed", 6) == 0 || strcmp(ending, "exited 127") == 0 ||
	    strcmp(ending, "exited 126") == 0)
		snprintf(text, GG_DIAGNOSTIC_MAX, "the program ended while it started (%s)",
		         ending);
	else
		snprintf(text, GG_DIAGNOSTIC_MAX,
		         "no process loaded the agent: its environment was without LD_PRELOAD, or "
		         "each ended by exec before it allocated");
}

/*
 * The order of the explanations goes from certain to likely: the command's file, a hint about one
 * of its processes, an allocator of its own, and at last the sampling interval.
 */
bool gg_diagnostics_of_session(const struct gg_findings *findings,
                               const struct gg_profile_writer *writer, const char *command,
                               const char *ending, char text[GG_DIAGNOSTIC_MAX])
{
	char why[GG_PRELOADABLE_WHY_MAX];
	enum gg_preloadable reach = gg_launch_reach(command, why);

	text[0] = '\0';
	if (writer->counts.process_count == 0 && findings->hint[0] == '\0' &&
	    reach != GG_PRELOADABLE_ALL)
		snprintf(text, GG_DIAGNOSTIC_MAX, "%s", why);
	else if (writer->counts.process_count == 0 && findings->hint[0] == '\0')
		tell_no_process(ending, text);
	else if (findings->hint[0] != '\0')
		snprintf(text, GG_DIAGNOSTIC_MAX, "%s", findings->hint);
	else if (reach == GG_PRELOADABLE_PART)
		snprintf(text, GG_DIAGNOSTIC_MAX, "%s", why);
	else if (writer->counts.taken_count == 0)
		gg_diagnostics_unseen(writer, text);
	return text[0] != '\0';
}

void gg_diagnostics_advice(const struct gg_findings *findings,
                           const struct gg_profile_writer *writer, const char *command,
                           char text[GG_DIAGNOSTIC_MAX])
{
	const char *advice = NULL;

	if (findings->hint[0] == '\0' || writer->counts.process_count == 0)
		advice = gg_launch_advice(command);
	text[0] = '\0';
	if (findings->advice[0] != '\0')
		snprintf(text, GG_DIAGNOSTIC_MAX, "%s", findings->advice);
	else if (advice != NULL)
		snprintf(text, GG_DIAGNOSTIC_MAX, "to see all of %s: %s", gg_path_base(command),
		         advice);
}
