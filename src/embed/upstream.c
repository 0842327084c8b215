/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream - hides an allocator's calls of malloc from the agent, so that each block counts once.
 *
 * The allocator reports its blocks itself.  The agent's malloc() counts one number of its thread
 * down to the next sample point.  geiger_upstream_begin() makes that number so large that nothing
 * is due, and geiger_upstream_end() restores it.  Afterwards the stream of malloc's bytes continues
 * as if there had been no call.  So the agent's fast path needs no test.  libgeiger-malloc.so draws
 * otherwise, and discards its samples while that number is large.
 */
#include "embed/public.h"
#include "embed/sampling_settings.h"

__thread volatile int64_t *geiger_upstream_left_bytes __attribute__((tls_model("initial-exec")));

/* The number that begin() and end() change if there is no agent; nothing reads it. */
static __thread int64_t of_nobody __attribute__((tls_model("initial-exec")));

/* Serves compilers that cannot access another library's thread-local variables. */
GG_EXPORT volatile int64_t **geiger_upstream_left_bytes_of_thread(void);

volatile int64_t **geiger_upstream_left_bytes_of_thread(void)
{
	return &geiger_upstream_left_bytes;
}

volatile int64_t *geiger_upstream_find(void)
{
	const struct gg_agent_functions *agent = gg_embed_agent();

	/*
	 * The constructor has not run yet, so the agent may still appear: do not cache the answer.
	 */
	if (agent == NULL)
		return &of_nobody;
	geiger_upstream_left_bytes = gg_load_relaxed(&gg_embed_settings.is_own)
	                                     ? &of_nobody
	                                     : agent->malloc_left_bytes();
	return geiger_upstream_left_bytes;
}
