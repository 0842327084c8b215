/* SPDX-License-Identifier: Apache-2.0 */
/* jvm_adapter - looks for a launcher's function, and opens the library. */
#include "preload/jvm_adapter.h"

#include <stdbool.h>
#include <string.h>

#include "abi/agent_functions.h"
#include "preload/adapter_library.h"
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
	static const struct gg_adapter_library adapter = {
		.entry = "gg_jvm_install",
		.variable = "GEIGER_JVM=",
		.kind = " is no adapter for Java VMs",
		.loss = "no Java objects are shown: ",
	};
	void *address;

	if (path == NULL || *path != '/' || !may_start_vm())
		return;
	address = gg_adapter_library_open(path, &adapter);
	if (address == NULL)
		return;
	memcpy(&install, &address, sizeof(install));
	why = install(&gg_agent_functions);
	if (why != NULL)
		gg_agent_log(adapter.loss, why, GG_AGENT_LOG_END);
}
