/* SPDX-License-Identifier: Apache-2.0 */
/*
 * managed_watch - adds the managed memory of a running .NET process to a profile that grows.
 *
 *   gg_managed_watch_new(&watch, pid, room_bytes, error);
 *   now and then:
 *     gg_managed_watch_take(watch, &writer, process);
 *     gg_managed_watch_tally(watch, &live, &allocated_bytes);
 *   gg_managed_watch_free(watch);
 *
 * The watch begins a session with the runtime when it finds its socket.  A thread reads the events:
 * a runtime drops events if nobody reads them.  Each call writes the samples that are new, and the
 * ends of objects that a collection has found dead.  A short second session lists the methods that
 * were compiled before.
 *
 * Older     objects that are older than the session are missing; a note says so.
 * Late      the runtime sends its events each tenth of a second.  Collections of the last half
 *           second do not count yet, because their events may be incomplete.
 * Ends      A session ends when its events take room_bytes of TMPDIR, when these cannot be written,
 *           or when the runtime ends it.  The next call begins another one; one that follows a
 *           short session waits for up to a minute.  Then the live objects of the ended session
 *           end, because nobody tells when they die, and a note says so.
 * Cost      Each call that has new events reads all of them again, so calls that come sooner than
 *           20 times the duration of the last one do nothing.
 * Failure   nothing here fails a profile; a note says what is missing.
 * Threads   one owner; the thread of the watch touches the connections alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"
#include "record/session/profile_writer.h"
#include "stats/estimate/tally.h"

struct gg_managed_watch;

GG_MUST_CHECK int gg_managed_watch_new(struct gg_managed_watch **ret_watch, pid_t pid,
                                       uint64_t room_bytes, struct gg_error *error);
void gg_managed_watch_free(struct gg_managed_watch *watch); /* NULL is fine */

/* Writes what is new for the process of that id.  A failure of the profile is the writer's. */
void gg_managed_watch_take(struct gg_managed_watch *watch, struct gg_profile_writer *writer,
                           uint32_t process);

/* True if there is a session: the process has a runtime, and it can be followed. */
bool gg_managed_watch_follows(const struct gg_managed_watch *watch);

/* Says why the session has ended; NULL: it runs.  The next look would begin another one. */
const char *gg_managed_watch_why_ended(const struct gg_managed_watch *watch);
/* True if a session that has ended was so short that the next one should wait. */
bool gg_managed_watch_was_short(const struct gg_managed_watch *watch);

/* Adds the live samples, and the estimate of all allocated bytes, as the last call has written. */
void gg_managed_watch_tally(const struct gg_managed_watch *watch, struct gg_tally *live,
                            double *allocated_bytes);
