/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_library - dlopen() and dlsym(), with a line for what fails. */
#include "preload/adapter_library.h"

#include <dlfcn.h>
#include <stddef.h>

#include "runtime/agent_log.h"

void *gg_adapter_library_open(const char *path, const struct gg_adapter_library *adapter)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *address;

	if (library == NULL) {
		gg_agent_log(adapter->loss, dlerror(), GG_AGENT_LOG_END);
		return NULL;
	}
	address = dlsym(library, adapter->entry);
	if (address == NULL)
		gg_agent_log(adapter->loss, adapter->variable, path, adapter->kind,
		             GG_AGENT_LOG_END);
	return address;
}
