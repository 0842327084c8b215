/* SPDX-License-Identifier: Apache-2.0 */
/* join - a thread that waits for the VM. */
#include "join.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "embed/sampling_settings.h"
#include "vm.h"

enum {
	/* The VM puts its guard pages into the stack, and runs Java code there. */
	STACK_BYTES = 1 << 20,
	WAIT_NS = 2000000,
	/* A minute; a program that has no VM by then has no use for one. */
	WAITS_MAX = 60 * 500,
	COMPLETE_WAITS = 10 * 500 /* ten seconds, for VMs without periodic tasks */
};

typedef jint JNICALL get_created_vms(JavaVM **ret_vms, jsize capacity, jsize *ret_count);

static get_created_vms *find_function(void)
{
	/* The library is found by its name if it is there, and not loaded. */
	void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD), *address;
	get_created_vms *function = NULL;

	address = library != NULL ? dlsym(library, "JNI_GetCreatedJavaVMs") : NULL;
	if (address != NULL)
		memcpy(&function, &address, sizeof(function));
	else if (library != NULL)
		dlclose(library);
	return function;
}

/* True if a thread of this process has a name that begins so. */
static bool has_thread(const char *name)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	bool found = false;

	while (folder != NULL && !found && (entry = readdir(folder)) != NULL) {
		char path[300], comm[32] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, comm, sizeof(comm) - 1) > 0)
			found = strncmp(comm, name, strlen(name)) == 0;
		close(fd);
	}
	if (folder != NULL)
		closedir(folder);
	return found;
}

/* The VM starts the thread for its periodic tasks after everything that JVMTI needs. */
static bool is_complete(void)
{
	return has_thread("VM Periodic Tas");
}

static JavaVM *wait_for_vm(void)
{
	const struct timespec pause = { .tv_nsec = WAIT_NS };
	get_created_vms *created = NULL;
	JavaVM *vm = NULL;
	jsize count = 0;
	int seen = 0;

	for (int i = 0; i < WAITS_MAX && !gg_jvm_is_begun(); i++) {
		if (created == NULL)
			created = find_function();
		if (created != NULL && created(&vm, 1, &count) == JNI_OK && count > 0 &&
		    (++seen > COMPLETE_WAITS || is_complete()))
			return vm;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void *join(void *nothing)
{
	static char name[] = "geiger";
	JavaVMAttachArgs attach = { JNI_VERSION_1_8, name, NULL };
	const char *why;
	JavaVM *vm;
	void *env;

	(void)nothing;
	pthread_setname_np(pthread_self(), "geiger-jvm");
	vm = wait_for_vm();
	if (vm == NULL || (*vm)->AttachCurrentThreadAsDaemon(vm, &env, &attach) != JNI_OK)
		return NULL;
	why = gg_jvm_begin(vm, true);
	(*vm)->DetachCurrentThread(vm);
	if (why != NULL)
		gg_embed_agent()->log(why);
	return NULL;
}

int gg_jvm_join_start(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int status;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(&thread, &attributes, join, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return status;
}
