/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target - opens and closes the region of a process, and remembers processes that have ended.
 *
 * A finished target stays in its set without region and ring, because a child that it forked may
 * still appear and say that it inherited samples.  The set forgets finished targets when it has too
 * many, first those that were not used for the longest time.  A child of a forgotten process then
 * inherits from that process's own ancestor.
 */
#include "record/process/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/size.h"
#include "base/time_units.h"
#include "record/process/attach_record.h"
#include "record/process/exact_state.h"
#include "region/control.h"
#include "region/reader/view.h"

enum {
	FINISHED_KEPT = 64, /* finished processes */
	/*
	 * Samples of all finished processes, some 50 MB.  The last process keeps all its samples.
	 */
	FINISHED_SAMPLES_KEPT = 1 << 20,
};

/*
 * Copies a text that need not end in a 0 byte.  Arguments have a 0 byte after each: these become
 * blanks, except at the end.  Other texts end at their first 0 byte.
 */

static char *copy_text(const char *text, size_t bytes, bool is_arguments)
{
	char *copy = malloc(bytes + 1);
	size_t length = 0;

	if (copy == NULL)
		return NULL;
	while (length < bytes && (text[length] != '\0' || is_arguments)) {
		copy[length] = text[length] != '\0' ? text[length] : ' ';
		length++;
	}
	while (is_arguments && length > 0 && copy[length - 1] == ' ')
		length--;
	copy[length] = '\0';
	return copy;
}

/* Returns the value of an option in the header's lines NAME=VALUE; NULL: the header lacks it. */
static const char *find_option(const struct gg_region_header *header, const char *name,
                               char value[64])
{
	size_t length = strlen(name), at = 0;

	while (at < header->options_bytes) {
		const char *line = header->options + at;
		size_t rest = header->options_bytes - at;
		const char *end = memchr(line, '\n', rest);
		size_t bytes = end != NULL ? (size_t)(end - line) : rest;

		if (bytes > length && bytes - length <= 63 && memcmp(line, name, length) == 0) {
			memcpy(value, line + length, bytes - length);
			value[bytes - length] = '\0';
			return value;
		}
		at += bytes + 1;
	}
	return NULL;
}

/* Fills in the process's record from the header.  The options have the values of its start. */
static void fill_record(struct gg_target *target)
{
	const struct gg_region_header *header = &target->reader.header;
	struct gg_profile_process *record = &target->record;
	uint64_t first_bytes;
	char value[64];

	record->pid = target->pid;
	record->parent = target->parent;
	record->start_ns = gg_profile_writer_time(target->writer, header->start_monotonic_ns);
	record->end_ns = GG_TIME_NONE;
	record->exe = copy_text(header->exe, header->exe_bytes, false);
	record->command = copy_text(header->command, header->command_bytes, true);
	record->interval_bytes = (double)header->control.interval_bytes;
	/*
	 * The control has the current interval, which the user may have changed since the start.
	 * The record needs the largest one: blocks without a sample may have been exposed to it.
	 */
	if ((find_option(header, "GEIGER_PLANNED_INTERVAL=", value) != NULL ||
	     find_option(header, "GEIGER_INTERVAL=", value) != NULL) &&
	    gg_size_parse(value, &first_bytes) == 0 && first_bytes <= GG_REGION_INTERVAL_MAX &&
	    (double)first_bytes > record->interval_bytes)
		record->interval_bytes = (double)first_bytes;
	record->scheme = GG_SCHEME_POISSON;
	if (find_option(header, "GEIGER_SCHEME=", value) != NULL &&
	    gg_scheme_parse(value, &record->scheme) < 0)
		record->scheme = GG_SCHEME_POISSON;
	target->records_mappings = find_option(header, "GEIGER_MMAP=", value) != NULL &&
	                           value[0] != '0';
	if (gg_region_is_exact(header)) {
		record->scheme = GG_SCHEME_EXACT;
		record->interval_bytes = 1;
	}
}

void gg_target_free(struct gg_target *target)
{
	if (target == NULL)
		return;
	if (target->reader.fd >= 0)
		close(target->reader.fd);
	gg_exact_history_free(target->exact);
	gg_live_set_done(&target->live_set);
	gg_stack_map_done(&target->stack_map);
	gg_map_done(&target->origins);
	gg_map_done(&target->seen_map);
	gg_array_done(&target->seen);
	gg_array_done(&target->threads);
	gg_array_done(&target->names[0]);
	gg_array_done(&target->names[1]);
	free((char *)target->record.exe);
	free((char *)target->record.command);
	free(target);
}

static int add_process(struct gg_target *target)
{
	struct gg_profile_writer *writer = target->writer;
	struct stat file;

	fill_record(target);
	target->id = target->set->known_id;
	target->set->known_id = 0;
	if (target->id == 0 &&
	    gg_profile_writer_keep(writer, gg_profile_add_process(writer->profile, &target->record,
	                                                          &target->id, writer->error)) == 0)
		writer->counts.process_count++;
	else if (writer->status == 0)
		gg_profile_writer_keep(writer,
		                       gg_profile_update_process(writer->profile, target->id,
		                                                 &target->record, writer->error));
	if (writer->status < 0)
		return writer->status;
	target->record.id = target->id;
	target->stack_map.process = target->id;
	if (gg_lineage_add(&target->set->lineage, &target->reader.header, target->id,
	                   &target->lineage) < 0)
		return gg_profile_writer_keep(writer, -ENOMEM);
	if (fstat(target->reader.fd, &file) == 0)
		gg_lineage_at(&target->set->lineage, target->lineage)->owner = (int64_t)file.st_uid;
	return gg_attach_record_write(writer, target->id, &target->reader.header);
}

int gg_target_open(struct gg_target **ret_target, struct gg_target_set *set,
                   struct gg_profile_writer *writer, int fd, uint32_t pid, uint32_t parent,
                   bool drains, struct gg_error *error)
{
	struct gg_target *target = calloc(1, sizeof(*target));
	const struct gg_region_header *header;
	int status = 0;

	if (target == NULL) {
		close(fd);
		return gg_error_memory(error, "the region");
	}
	target->reader.fd = fd;
	target->writer = writer;
	target->set = set;
	target->parent = parent;
	status = gg_region_reader_refresh(&target->reader, error);
	if (status == 0 && drains && gg_ring_open(&target->ring, fd) < 0)
		status = gg_error_set(error, -EBADMSG, "the region", NULL,
		                      "is damaged: its ring does not fit");
	if (status < 0) {
		gg_target_free(target);
		return status;
	}
	header = &target->reader.header;
	target->exact = gg_region_is_exact(header) ? gg_exact_history_new() : NULL;
	if (gg_region_is_exact(header) && target->exact == NULL) {
		gg_target_free(target);
		return gg_error_memory(error, "the region");
	}
	target->is_ours = target->has_ring = drains;
	target->pid = pid != 0 ? pid : header->pid;
	target->start_ticks = header->process_start_ticks;
	target->control = header->control;
	target->complete_ns = target->aggregate_from_ns = gg_profile_writer_time(
		writer, header->start_monotonic_ns);
	gg_live_set_init(&target->live_set,
	                 (uint32_t)gg_region_table_of(header, GG_TABLE_LIVE)->capacity);
	status = add_process(target);
	if (drains && status == 0 && header->control.active == 0)
		gg_profile_writer_event(writer, target->id, target->record.start_ns, "off",
		                        "it began switched off");
	target->was_off = header->control.active == 0;
	target->next = set->first;
	set->first = target;
	*ret_target = target;
	return status;
}

int gg_target_watch_collections(struct gg_target *target, bool is_last)
{
	struct gg_profile_writer *writer = target->writer;
	uint64_t ns;

	if (target->reader.fd < 0 ||
	    !gg_region_reader_counter(&target->reader, GG_COUNT_FULL_COLLECTION_NS, &ns) ||
	    ns <= target->collection_ns ||
	    (!is_last && target->collection_ns != 0 && ns - target->collection_ns < GG_NS_PER_S) ||
	    ns < target->reader.header.start_monotonic_ns || ns > gg_clock_monotonic_ns())
		return writer->status;
	target->collection_ns = ns;
	return gg_profile_writer_event(writer, target->id, gg_profile_writer_time(writer, ns),
	                               GG_PROFILE_FULL_COLLECTION, "a full collection began");
}

/*
 * Several changes since the last look, after which all is as before.  In between sampling may have
 * been off, or much coarser.
 */
static void note_unseen_changes(struct gg_target *target)
{
	struct gg_profile_writer *writer = target->writer;

	target->was_off = true;
	gg_profile_writer_event(
		writer, target->id,
		target->watched_ns > target->record.start_ns ? target->watched_ns
							     : target->record.start_ns,
		"off", "settings were changed several times: sampling may have been off");
	gg_profile_writer_event(writer, target->id, writer->now_ns, "on", "settings are as before");
}

/* Blocks without a sample may have been exposed to this larger interval. */
static int expose(struct gg_target *target, uint64_t interval_bytes)
{
	struct gg_profile_writer *writer = target->writer;

	if (interval_bytes > GG_REGION_INTERVAL_MAX)
		interval_bytes = GG_REGION_INTERVAL_MAX;
	if (target->exact != NULL || (double)interval_bytes <= target->record.interval_bytes)
		return writer->status;
	target->record.interval_bytes = (double)interval_bytes;
	return gg_profile_writer_keep(writer,
	                              gg_profile_update_process(writer->profile, target->id,
	                                                        &target->record, writer->error));
}

int gg_target_watch_control(struct gg_target *target)
{
	struct gg_region_control now, *before = &target->control;
	struct gg_profile_writer *writer = target->writer;
	uint64_t coarsest;

	if (target->reader.fd >= 0 &&
	    gg_region_reader_counter(&target->reader, GG_COUNT_COARSEST_INTERVAL, &coarsest))
		expose(target, coarsest);
	if (target->reader.fd < 0 || !gg_region_control_read(target->reader.fd, &now))
		return writer->status;
	if (now.change_count == before->change_count &&
	    now.interval_bytes == before->interval_bytes) {
		target->watched_ns = writer->now_ns;
		return writer->status;
	}
	if ((now.active != 0) != (before->active != 0))
		gg_profile_writer_event(writer, target->id, writer->now_ns,
		                        now.active != 0 ? "on" : "off", "sampling was switched %s",
		                        now.active != 0 ? "on" : "off");
	else if (now.change_count - before->change_count > 1 &&
	         now.interval_bytes == before->interval_bytes)
		note_unseen_changes(target);
	if (now.interval_bytes != before->interval_bytes)
		gg_profile_writer_event(writer, target->id, writer->now_ns, "interval",
		                        "the sampling interval was changed from %llu to %llu",
		                        (unsigned long long)before->interval_bytes,
		                        (unsigned long long)now.interval_bytes);
	target->was_off |= now.active == 0;
	*before = now;
	target->watched_ns = writer->now_ns;
	return expose(target, now.interval_bytes);
}

void gg_target_rename(struct gg_target *target, const char *command, size_t command_bytes,
                      const char *main_thread, size_t main_thread_bytes)
{
	struct gg_profile_writer *writer = target->writer;
	char *text = command_bytes > 0 ? copy_text(command, command_bytes, true) : NULL;
	const char *before = target->record.command;

	/* Only a whole line is a name.  The text has no 0 byte at its end, hence memchr(). */
	if (main_thread_bytes > 0 && memchr(main_thread, '\n', main_thread_bytes) != NULL)
		snprintf(target->main_thread, sizeof(target->main_thread), "%.*s",
		         (int)strcspn(main_thread, "\n"), main_thread);
	if (text == NULL || *text == '\0' || (before != NULL && strcmp(text, before) == 0)) {
		free(text);
		return;
	}
	free((char *)before);
	target->record.command = text;
	gg_profile_writer_keep(writer, gg_profile_update_process(writer->profile, target->id,
	                                                         &target->record, writer->error));
}

/* Frees a finished process.  Its children inherit from its ancestor from now on. */
static void forget(struct gg_target_set *set, struct gg_target **link)
{
	struct gg_target *target = *link;

	gg_assert(target->is_finished && set->finished_count > 0);
	*link = target->next;
	for (struct gg_target *other = set->first; other != NULL; other = other->next)
		if (other->ancestor == target)
			other->ancestor = target->ancestor;
	gg_target_free(target);
	set->finished_count--;
}

/*
 * True if the set remembers more finished processes or samples than it should.  *ret_oldest is the
 * link to the process that was not used for the longest time.
 */
static bool remembers_too_much(struct gg_target_set *set, struct gg_target ***ret_oldest)
{
	uint64_t sample_count = 0, oldest = UINT64_MAX;

	for (struct gg_target **link = &set->first; *link != NULL; link = &(*link)->next) {
		if (!(*link)->is_finished)
			continue;
		sample_count += (*link)->live_set.samples.count;
		if ((*link)->last_use >= oldest)
			continue;
		oldest = (*link)->last_use;
		*ret_oldest = link;
	}
	return set->finished_count > FINISHED_KEPT ||
	       (sample_count > FINISHED_SAMPLES_KEPT && set->finished_count > 1);
}

void gg_target_use_ancestors(struct gg_target *target)
{
	for (struct gg_target *other = target->ancestor; other != NULL; other = other->ancestor) {
		gg_assert(other != target);
		other->last_use = ++target->set->use_count;
	}
}

void gg_target_tell_lineage(struct gg_target *target)
{
	struct gg_lineage_process *process = gg_lineage_at(&target->set->lineage, target->lineage);
	uint64_t drop_count = target->drop_count;

	if (process == NULL || target->reader.fd < 0)
		return;
	gg_region_reader_counter(&target->reader, GG_COUNT_DROP_EVENTS, &drop_count);
	gg_region_reader_counter(&target->reader, GG_COUNT_UNNOTED_CHILDREN,
	                         &process->unnoted_child_count);
	/* Exact counts do not tell which blocks a child inherited. */
	process->has_samples = target->live_set.samples.count > 0 || target->exact != NULL;
	process->is_lossy |= drop_count > 0 || target->bad_count > 0 || !target->has_ring ||
	                     target->exact != NULL;
	/* Thread 0 is nobody. */
	process->thread_count = gg_region_reader_used(&target->reader, GG_TABLE_THREADS) - 1;
	process->interval_bytes = target->record.interval_bytes;
	process->scheme = target->record.scheme;
}

void gg_target_close(struct gg_target *target)
{
	struct gg_target_set *set = target->set;
	struct gg_target **oldest = NULL;

	gg_assert(!target->is_finished && target->reader.fd >= 0);
	gg_target_tell_lineage(target);
	close(target->reader.fd);
	target->reader.fd = -1;
	target->is_finished = true;
	target->has_ring = false;
	gg_stack_map_done(&target->stack_map);
	gg_map_done(&target->seen_map);
	gg_array_done(&target->seen);
	gg_exact_history_free(target->exact);
	target->exact = NULL;
	set->finished_count++;
	target->last_use = ++set->use_count;
	gg_target_use_ancestors(target); /* siblings that inherited from them may still appear */
	while (remembers_too_much(set, &oldest))
		forget(set, oldest);
}

void gg_target_set_done(struct gg_target_set *set)
{
	while (set->first != NULL) {
		struct gg_target *target = set->first;

		set->first = target->next;
		gg_target_free(target);
	}
	gg_map_done(&set->orphans);
	gg_map_done(&set->found);
	gg_lineage_done(&set->lineage);
	free(set->events);
	set->events = NULL;
	set->finished_count = 0;
}
