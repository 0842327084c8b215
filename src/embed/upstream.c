/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream - blocks that an allocator takes from malloc and reports itself: malloc's do not count.
 *
 * The agent's malloc() counts one number of its thread down to the next mark.  While that number is out of
 * reach nothing is due, and putting it back leaves the stream of malloc's bytes as if there had been no
 * call.  So the agent's fast path has no test for it.
 */
#include "embed/public.h"
#include "embed/sampling_settings.h"

__thread volatile int64_t *geiger_upstream_left_bytes __attribute__((tls_model("initial-exec")));

/* Counts nothing: there is no agent. */
static __thread int64_t of_nobody __attribute__((tls_model("initial-exec")));

/* For compilers that cannot reach it from outside. */
GG_EXPORT volatile int64_t **geiger_upstream_left_bytes_of_thread(void);

volatile int64_t **geiger_upstream_left_bytes_of_thread(void)
{
	return &geiger_upstream_left_bytes;
}

volatile int64_t *geiger_upstream_find(void)
{
	const struct gg_agent_functions *agent = gg_embed_agent();

	/* Before the constructor has run: not cached. */
	if (agent == NULL)
		return &of_nobody;
	geiger_upstream_left_bytes = gg_load_relaxed(&gg_embed_settings.is_own)
	                                     ? &of_nobody
	                                     : agent->malloc_left_bytes();
	return geiger_upstream_left_bytes;
}
