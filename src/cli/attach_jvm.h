/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_jvm - `geiger attach --only jvm`: the objects of a Java VM alone, by its attach socket.
 *
 * The VM loads the adapter, which records to a region of its own until `geiger control PID off`.
 * No right to trace is needed, and nothing of malloc changes.
 */
#pragma once

#include "cli/attach_run.h"

/* Checks the options that go with it.  Returns 0 or -EINVAL. */
GG_MUST_CHECK int gg_attach_jvm_check(const struct gg_attach_options *given,
                                      struct gg_error *error);

/* Attaches, or with --dry-run says whether it would.  Returns 0 or -Exxx. */
GG_MUST_CHECK int gg_attach_jvm(pid_t pid, const char *agent, const struct gg_attach_options *given,
                                struct gg_error *error);
