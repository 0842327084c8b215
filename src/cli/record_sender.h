/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_sender - a process beside the recorder that sends the profile while it grows.
 *
 *   gg_record_sender_start(&sender, &options, quiet, error);     before the session
 *   gg_record_sender_follow(&sender, path);               when the session has a profile
 *   gg_record_sender_end(&sender);                        when the profile is complete
 *
 * A process of its own, so that no receiver, however slow, holds up the recorder.  It is no child
 * that wait() without __WCLONE finds: the recorder's session ends when it has no child any more.
 * The end of a pipe tells it that the recorder has ended, even by a kill.  It ignores the signals
 * that the recorder passes on to its command.
 *
 * Threads  one owner; the caller has no other thread when it starts the process.
 */
#pragma once

#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"
#include "cli/send_settings.h"

struct gg_record_sender {
	pid_t pid; /* 0: not started */
	int fd;    /* of the pipe to it */
};

/* Prints nothing if `quiet`.  The errors of gg_send_settings_make() and fork(). */
GG_MUST_CHECK int gg_record_sender_start(struct gg_record_sender *ret_sender,
                                         const struct gg_send_options *options, bool quiet,
                                         struct gg_error *error);
void gg_record_sender_follow(const struct gg_record_sender *sender, const char *path);
/* Waits until the process has sent the rest, or has given up. */
void gg_record_sender_end(struct gg_record_sender *sender);
