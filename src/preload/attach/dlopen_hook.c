/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen_hook - ends the countdown of the thread's sampler at a checkpoint. */
#include "preload/attach/dlopen_hook.h"

#include "runtime/process.h"
#include "runtime/thread.h"

void *(*gg_attach_real_dlopen)(const char *file, int mode);

void *gg_attach_dlopen(const char *file, int mode)
{
	struct gg_thread *t = &gg_thread;

	/* The pending point is dropped unseen, which changes the odds of no allocation. */
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && gg_thread_enter(t)) {
		if (gg_sampler_is_started(&t->sampler)) {
			gg_thread_count(t);
			gg_sampler_pause(&t->sampler, 0);
			t->counted_left_bytes = t->sampler.left_bytes;
		}
		gg_thread_leave(t);
	}
	return gg_attach_real_dlopen(file, mode);
}
