/* SPDX-License-Identifier: Apache-2.0 */
/* constructor - starts recording when the process begins, and exports the agent's functions. */
#include "abi/agent_functions.h"
#include "abi/attach_request.h"
#include "base/compiler.h"
#include "preload/jvm_adapter.h"
#include "preload/python_adapter.h"
#include "runtime/exact_mode.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/operator_frames.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/start.h"
#include "runtime/thread.h"
#include "unwind/unwind.h"

#ifdef GG_MUSL
enum { HAS_ADAPTERS = 0 }; /* the adapters of languages are built with glibc */
#else
enum { HAS_ADAPTERS = 1 };
#endif

gg_attach_entry geiger_agent_attach;

/*
 * Runs after the constructors of libc and before those of the program.  Usually the first to start.
 */
__attribute__((constructor)) static void construct(void)
{
	struct gg_thread *t = &gg_thread;
	const char *other;
	bool is_running;

	/* The library was loaded into a process that is running: geiger_agent_attach() begins. */
	if (gg_elf_lookup_is_late()) {
		gg_store_release(&gg_process.state, GG_PROCESS_DETACHED);
		return;
	}
	/* libgeiger-malloc comes first, and has the agent's code: one of the two records. */
	if (gg_elf_lookup_any(GG_ATTACH_ENTRY) != (void *)geiger_agent_attach) {
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
		return;
	}
	if (gg_sanitizer_runtime() != NULL) {
		gg_start_leave_to_sanitizer(gg_sanitizer_runtime());
		return;
	}
	other = gg_real_other_allocator();
	if (other != NULL) {
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
		gg_start_leave_to_allocator(other);
		return;
	}
	/* This takes the loader's lock, which no thread holds for long at this time. */
	gg_unwind_init();
	gg_operator_frames_find();
	if (!gg_thread_enter(t))
		return;
	is_running = gg_start_ensure();
	if (is_running)
		gg_mapped_modules_refresh();
	gg_thread_leave(t);
	if (is_running && HAS_ADAPTERS) {
		gg_python_adapter_load();
		gg_jvm_adapter_load();
	}
}

/* libgeiger looks for this name, and for no other. */
GG_EXPORT extern const struct gg_agent_functions *const geiger_agent_interface;
const struct gg_agent_functions *const geiger_agent_interface = &gg_agent_functions;
