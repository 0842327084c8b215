/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forked_agents - finds processes that were forked under an attached agent, and still have it.
 *
 *   struct gg_forked_agents found = { 0 };
 *
 *   status = gg_forked_agents_find(&found, NULL, error);
 *   ... found.pids ...
 *   gg_forked_agents_done(&found);
 *
 * A forked process gets a region with its first sample.  Until then only its memory shows the
 * agent: it has mapped the region of its parent, also after that file was removed.
 */
#pragma once

#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"

struct gg_forked_agents {
	GG_ARRAY(pid_t) pids;
};

/*
 * Finds those that have mapped a region of this directory, their own or another process's.  NULL:
 * those that have no region of their own, and whose parent's region is still a file.
 */
GG_MUST_CHECK int gg_forked_agents_find(struct gg_forked_agents *found, const char *directory,
                                        struct gg_error *error);
void gg_forked_agents_done(struct gg_forked_agents *found);
