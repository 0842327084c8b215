/* SPDX-License-Identifier: Apache-2.0 */
/* python_adapter - looks for a function of CPython, and opens the library. */
#include "python_adapter.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/agent_log.h"
#include "runtime/environment.h"
#include "runtime/platform/elf_lookup.h"

void gg_python_adapter_load(void)
{
	const char *path = gg_environment_get("GEIGER_PYTHON"), *why;
	const char *(*install)(bool native);
	void *library, *address;

	if (path == NULL || *path != '/' || gg_elf_lookup_any("PyMem_SetAllocator") == NULL)
		return;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		gg_agent_log("no Python functions are shown: ", dlerror(), GG_AGENT_LOG_END);
		return;
	}
	address = dlsym(library, "gg_python_install");
	if (address == NULL) {
		gg_agent_log("no Python functions are shown: GEIGER_PYTHON=", path,
		             " is no adapter for Python", GG_AGENT_LOG_END);
		return;
	}
	memcpy(&install, &address, sizeof(install));
	why = install(false);
	if (why != NULL)
		gg_agent_log("no Python functions are shown: ", why, GG_AGENT_LOG_END);
}
