/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constructor - the agent records from the start of the process on, and tells libgeiger that it is there.
 */
#include "abi/agent_functions.h"
#include "base/compiler.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/platform/operator_frames.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/start.h"
#include "runtime/thread.h"
#include "unwind/unwind.h"

/* After the constructors of libc, before those of the program: usually the start. */
__attribute__((constructor)) static void construct(void)
{
	struct gg_thread *t = &gg_thread;

	if (gg_sanitizer_runtime() != NULL) {
		gg_start_leave_to_sanitizer(gg_sanitizer_runtime());
		return;
	}
	/* It takes the loader's lock, which nobody holds for long here. */
	gg_unwind_init();
	gg_operator_frames_find();
	if (!gg_thread_enter(t))
		return;
	if (gg_start_is_ready())
		gg_mapped_modules_refresh();
	gg_thread_leave(t);
}

/* The one name that libgeiger looks for. */
GG_EXPORT extern const struct gg_agent_functions *const geiger_agent_interface;
const struct gg_agent_functions *const geiger_agent_interface = &gg_agent_functions;
