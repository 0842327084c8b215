/* SPDX-License-Identifier: Apache-2.0 */
/* other_agents - asks each loaded library for the functions of an agent. */
#include "other_agents.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"

static const char ours; /* an address in this library */

/* The name of the file that has this address; NULL: none has. */
static const char *file_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

/* Names of all libraries, each with its zero byte. */
static int add_name(struct dl_phdr_info *info, size_t bytes, void *names)
{
	(void)bytes;
	if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
		gg_buf_append(names, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 0;
}

/* The length of the folder of the JDK's libraries: the VM is in a folder within it. */
static size_t folder_length(const char *vm_file)
{
	size_t length = strlen(vm_file), slashes = 0;

	while (length > 0 && (slashes += vm_file[length - 1] == '/') < 2)
		length--;
	return length;
}

/* A library that is found by its handle may have the function from one that it needs. */
static bool defines(void *library, const char *function, const char *name)
{
	const char *file = file_of(dlsym(library, function));

	return file != NULL && strcmp(file, name) == 0;
}

static bool is_agent(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	bool is = library != NULL && (defines(library, "Agent_OnLoad", name) ||
	                              defines(library, "Agent_OnAttach", name));

	if (library != NULL)
		dlclose(library);
	return is;
}

bool gg_jvm_has_other_agents(JavaVM *vm)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf names = { 0 };
	const char *vm_file, *our_file = file_of(&ours);
	const void *function;
	size_t length;
	bool found = false;

	memcpy(&function, &(*vm)->DestroyJavaVM, sizeof(function));
	vm_file = file_of(function);
	length = vm_file != NULL ? folder_length(vm_file) : 0;

	dl_iterate_phdr(add_name, &names);
	for (size_t at = 0; at < names.length && !found; at += strlen(names.data + at) + 1) {
		const char *name = names.data + at;
		bool is_of_jdk = length > 0 && strncmp(name, vm_file, length) == 0;

		found = !is_of_jdk && (our_file == NULL || strcmp(name, our_file) != 0) &&
		        is_agent(name);
	}
	return found || names.failed;
}
