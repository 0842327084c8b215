/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_thread - answers the names in thread.*, which concern the calling thread only. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "compat/jemalloc/ctl_table.h"
#include "compat/jemalloc/profiler_state.h"

enum { THREAD_NAME_MAX_BYTES = 128 };

/*
 * The name that the thread gave itself, truncated to the buffer.  A reader of the name gets a
 * pointer to it, so it must outlive the call.  Its TLS model needs no allocation at the first
 * access.
 */
static _Thread_local char name[THREAD_NAME_MAX_BYTES] __attribute__((tls_model("initial-exec")));

/* jemalloc accepts only printable ASCII characters and tabs in a name. */
static bool is_fit(const char *text)
{
	for (; *text != '\0'; text++)
		if ((*text < ' ' && *text != '\t') || (unsigned char)*text > '~')
			return false;
	return true;
}

static int set_name(const struct gg_compat_settings *s, const char *text)
{
	size_t length;

	/* With that option, the kernel's names of threads count, and programs set none here. */
	if (s->conf.prof_sys_thread_name)
		return ENOENT;
	if (text == NULL || !is_fit(text))
		return EFAULT;
	length = strnlen(text, sizeof(name) - 1);
	memcpy(name, text, length);
	name[length] = '\0';
	s->agent->thread_name(name);
	return 0;
}

int gg_ctl_thread_prof_name(const struct gg_ctl_call *call)
{
	const struct gg_compat_settings *s = gg_compat_settings();
	const char *text = name;
	int status = gg_profiler_check_on();

	if (status == 0)
		status = gg_ctl_call_check_read_or_write(call);
	if (status != 0)
		return status;
	if (call->new != NULL) {
		status = gg_ctl_call_read_new(call, &text, sizeof(text));
		return status != 0 ? status : set_name(s, text);
	}
	if (s->conf.prof_sys_thread_name)
		pthread_getname_np(pthread_self(), name, sizeof(name));
	return gg_ctl_call_write_old(call, &text, sizeof(text));
}

static bool is_sampled(void)
{
	return gg_compat_settings()->agent->thread_active(-1);
}

static void set_sampled(bool on)
{
	gg_compat_settings()->agent->thread_active(on);
}

int gg_ctl_thread_prof_active(const struct gg_ctl_call *call)
{
	return gg_profiler_answer_switch(call, is_sampled, set_sampled);
}

/*
 * Answers with the bytes that the thread has allocated or freed, or with a pointer to the word that
 * has them.  Programs keep that pointer, to read the word later without a call.  byte_counts[0]
 * counts allocated bytes, byte_counts[1] freed bytes.
 */
static int bytes(const struct gg_ctl_call *call, bool is_freed, bool is_pointer)
{
	const struct gg_compat_settings *s = gg_compat_settings();
	struct gg_agent_bytes known;
	const uint64_t *word;
	uint64_t value;

	if (s->agent == NULL)
		return ENOENT;
	s->agent->thread_bytes(&known);
	word = known.byte_counts + is_freed;
	value = is_freed ? known.freed : known.allocated;
	return is_pointer ? gg_ctl_call_read_only(call, &word, sizeof(word))
	                  : gg_ctl_call_read_only(call, &value, sizeof(value));
}

int gg_ctl_thread_allocated(const struct gg_ctl_call *call)
{
	return bytes(call, false, false);
}

int gg_ctl_thread_allocatedp(const struct gg_ctl_call *call)
{
	return bytes(call, false, true);
}

int gg_ctl_thread_deallocated(const struct gg_ctl_call *call)
{
	return bytes(call, true, false);
}

int gg_ctl_thread_deallocatedp(const struct gg_ctl_call *call)
{
	return bytes(call, true, true);
}
