/* SPDX-License-Identifier: Apache-2.0 */
/* python_adapter - looks for a function of CPython, and opens the library. */
#include "python_adapter.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "abi/agent_functions.h"
#include "abi/attach_request.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "preload/adapter_library.h"
#include "preload/attach/loader_lock.h"
#include "runtime/agent_log.h"
#include "runtime/environment.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"

void gg_python_adapter_load(void)
{
	const char *path = gg_environment_get("GEIGER_PYTHON"), *why;
	const char *(*install)(bool native);
	static const struct gg_adapter_library adapter = {
		.entry = "gg_python_install",
		.variable = "GEIGER_PYTHON=",
		.kind = " is no adapter for Python",
		.loss = "no Python functions are shown: ",
	};
	void *address;

	if (path == NULL || *path != '/' || gg_elf_lookup_any("PyMem_SetAllocator") == NULL)
		return;
	address = gg_adapter_library_open(path, &adapter);
	if (address == NULL)
		return;
	memcpy(&install, &address, sizeof(install));
	why = install(false);
	if (why != NULL)
		gg_agent_log(adapter.loss, why, GG_AGENT_LOG_END);
}

/* --- in a process that runs --- */

/* Functions of the adapter, or NULL.  Set once, by the first attach that finds it. */
static struct {
	const char *(*attach)(const struct gg_agent_functions *agent);
	void (*detached)(void);
	void (*uninstall)(void);
} adapter;

struct found {
	bool has_python, has_adapter;
};

/* Copies an address to a pointer to a function, which ISO C cannot cast. */
static bool find(const char *name, void *ret_function)
{
	void *address = gg_elf_lookup_any(name);

	memcpy(ret_function, &address, sizeof(address));
	return address != NULL;
}

/* Under the loader's lock. */
static void find_all(void *context)
{
	struct found *found = context;

	found->has_python = gg_elf_lookup_any("PyMem_SetAllocator") != NULL;
	found->has_adapter = gg_elf_lookup_any("gg_python_install") != NULL;
	if (!find("gg_python_detached", &adapter.detached) ||
	    !find("gg_python_uninstall", &adapter.uninstall) ||
	    !find("gg_python_attach", &adapter.attach))
		adapter.attach = NULL;
}

static uint32_t refuse(const char *why, char *reason, size_t reason_bytes)
{
	size_t length = strnlen(why, reason_bytes - 1);

	memcpy(reason, why, length);
	reason[length] = '\0';
	return GG_ATTACH_PYTHON_REFUSED;
}

/* False: this attach took longer than its caller waited, and another thread has detached. */
static bool is_attached(void)
{
	return gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING;
}

/*
 * The program may have loaded the adapter by itself (geiger.record()), or an earlier attach has: a
 * second one would count all twice.
 */
uint32_t gg_python_adapter_attach(char *ret_reason, size_t reason_bytes)
{
	static const char ended[] = "the agent was detached meanwhile";
	const char *path = gg_environment_get("GEIGER_PYTHON"), *why;
	struct found found = { 0 };

	if (path == NULL || *path != '/')
		return GG_ATTACH_PYTHON_ABSENT;
	gg_loader_lock_call(find_all, &found);
	if (!found.has_python)
		return GG_ATTACH_PYTHON_ABSENT;
	if (!is_attached())
		return refuse(ended, ret_reason, reason_bytes);
	if (!found.has_adapter) {
		if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL)
			return refuse(dlerror(), ret_reason, reason_bytes);
		gg_loader_lock_call(find_all, &found);
	}
	if (adapter.attach == NULL)
		return refuse("its adapter is of another version", ret_reason, reason_bytes);
	why = adapter.attach(&gg_agent_functions);
	/*
	 * Full fence: a thread that detaches changes the state first, and then takes back the wish
	 * for hooks.  Either it finds the wish of this attach, or this thread finds the state.
	 */
	gg_fence_full();
	if (why == NULL && !is_attached()) {
		adapter.detached();
		if (!gg_seccomp_is_entered())
			adapter.uninstall();
		why = ended;
	}
	return why == NULL ? GG_ATTACH_PYTHON_SHOWN : refuse(why, ret_reason, reason_bytes);
}

void gg_python_adapter_detached(void)
{
	if (adapter.attach != NULL)
		adapter.detached();
}

void gg_python_adapter_leave(void)
{
	if (adapter.attach != NULL)
		adapter.uninstall();
}
