/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp - the hook of prctl(), which prepares for system call filters. */
#include "runtime/platform/seccomp.h"

#include <stdarg.h>
#include <sys/prctl.h>

#include "base/compiler.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"
#include "runtime/signals/sigbus_guard.h"
#include "runtime/start.h"
#include "runtime/thread.h"

uint32_t gg_seccomp_entered;

static GG_COLD void prepare(void)
{
	struct gg_thread *t = &gg_thread;

	if (!gg_thread_enter(t))
		return;
	if (gg_start_ensure()) {
		gg_mapped_modules_refresh();
		gg_thread_put_block(t, gg_thread_block(t));
	}
	gg_thread_leave(t);
}

static bool is_entrance(int option, unsigned long argument)
{
	return (option == PR_SET_NO_NEW_PRIVS && argument == 1) || option == PR_SET_SECCOMP;
}

/* Before the filter is installed.  From now on the region gets space without system calls. */
static void enter(void)
{
	gg_process.region.map.touch = gg_sigbus_guard_touch;
	gg_store_release(&gg_seccomp_entered, 1);
}

GG_EXPORT int prctl(int option, ...)
{
	unsigned long arguments[4];
	bool is;
	va_list list;

	va_start(list, option);
	for (size_t i = 0; i < GG_COUNT(arguments); i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	is = is_entrance(option, arguments[0]);
	/*
	 * A vfork child has its parent's memory and will execute another program: the parent must
	 * not change its behavior for that.
	 */
	if (gg_unlikely(is) && !gg_process_is_vforked()) {
		prepare();
		enter();
	}
	return gg_real.prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
