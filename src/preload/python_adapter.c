/* SPDX-License-Identifier: Apache-2.0 */
/* python_adapter - looks for a function of CPython, and opens the library. */
#include "python_adapter.h"

#include <stdbool.h>
#include <string.h>

#include "preload/adapter_library.h"
#include "runtime/agent_log.h"
#include "runtime/environment.h"
#include "runtime/platform/elf_lookup.h"

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
