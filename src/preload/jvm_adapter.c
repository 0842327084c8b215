/* SPDX-License-Identifier: Apache-2.0 */
/* jvm_adapter - looks for a launcher's function, and opens the library. */
#include "preload/jvm_adapter.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "abi/agent_functions.h"
#include "runtime/agent_log.h"
#include "runtime/environment.h"
#include "runtime/platform/elf_lookup.h"

/* All launchers of a JDK, such as java and javac, share one function of libjli. */
static bool may_start_vm(void)
{
	return gg_elf_lookup_any("JLI_Launch") != NULL ||
	       gg_elf_lookup_any("JNI_GetCreatedJavaVMs") != NULL;
}

void gg_jvm_adapter_load(void)
{
	const char *path = gg_environment_get("GEIGER_JVM"), *why;
	const char *(*install)(const struct gg_agent_functions *agent);
	void *library, *address;

	if (path == NULL || *path != '/' || !may_start_vm())
		return;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		gg_agent_log("no Java objects are shown: ", dlerror(), GG_AGENT_LOG_END);
		return;
	}
	address = dlsym(library, "gg_jvm_install");
	if (address == NULL) {
		gg_agent_log("no Java objects are shown: GEIGER_JVM=", path,
		             " is no adapter for Java VMs", GG_AGENT_LOG_END);
		return;
	}
	memcpy(&install, &address, sizeof(install));
	why = install(&gg_agent_functions);
	if (why != NULL)
		gg_agent_log("no Java objects are shown: ", why, GG_AGENT_LOG_END);
}
