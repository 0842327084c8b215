/* SPDX-License-Identifier: Apache-2.0 */
/* compat_calls - changes the calling thread's state for other profilers' interfaces. */
#include "runtime/compat_calls.h"

#include <errno.h>
#include <string.h>

#include "runtime/agent_log.h"
#include "runtime/compat_requests.h"
#include "runtime/process.h"
#include "runtime/process_settings.h"
#include "runtime/thread.h"

void gg_compat_calls_log(const char *line)
{
	gg_agent_log(line, GG_AGENT_LOG_END);
}

bool gg_compat_calls_thread_active(int new_state)
{
	struct gg_thread *t = &gg_thread;
	bool was_active = !gg_thread_is_off(
		t, gg_load_relaxed(&gg_compat_requests.new_threads_are_off) != 0);

	if (new_state < 0)
		return was_active;
	t->sampling = new_state != 0 ? GG_THREAD_ON : GG_THREAD_OFF;
	gg_compat_calls_apply_settings();
	return was_active;
}

bool gg_compat_calls_thread_active_init(int new_state)
{
	bool was_active = gg_load_relaxed(&gg_compat_requests.new_threads_are_off) == 0;

	if (new_state >= 0)
		gg_store_relaxed(&gg_compat_requests.new_threads_are_off, new_state == 0);
	return was_active;
}

/*
 * Without this call, new settings would take effect within 8 MiB: the sampler may still count down
 * to a sample point that old settings have drawn.
 */
void gg_compat_calls_apply_settings(void)
{
	struct gg_thread *t = &gg_thread;

	/* Acquire: pairs with the release of the starting thread. */
	if (gg_load_acquire(&gg_process.state) != GG_PROCESS_RUNNING || !gg_thread_enter(t))
		return;
	if (gg_process_ensure_current()) {
		gg_process_settings_refresh();
		gg_process_settings_update(t);
	}
	gg_thread_leave(t);
}

int gg_compat_calls_thread_name(const char *name)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block;
	int saved_errno = errno, status = -ENOENT;

	/* Acquire: as above. */
	if (gg_load_acquire(&gg_process.state) != GG_PROCESS_RUNNING || !gg_thread_enter(t))
		return -ENOENT;
	if (gg_process_ensure_current() && (block = gg_thread_block(t)) != NULL) {
		gg_region_thread_rename(&gg_process.region, &block->record, name);
		gg_thread_put_block(t, block);
		status = 0;
	}
	gg_thread_leave(t);
	errno = saved_errno;
	return status;
}

void gg_compat_calls_thread_bytes(struct gg_agent_bytes *ret)
{
	struct gg_thread *t = &gg_thread;

	/* Frees before the first call are not counted. */
	gg_store_relaxed(&gg_compat_requests.counts_frees, 1);
	if (gg_thread_enter(t)) {
		if (!gg_thread_restart_if_wanted(t))
			gg_thread_count(t);
		gg_thread_leave(t);
	}
	*ret = (struct gg_agent_bytes){ t->byte_counts[0], t->byte_counts[1], t->byte_counts };
}
