/* SPDX-License-Identifier: Apache-2.0 */
/* join - a thread that waits for the VM. */
#include "join.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <geiger/geiger.h>

#include "embed/sampling_settings.h"
#include "vm.h"

/* Ten seconds; a test waits for less. */
#ifndef GG_JVM_SERVED_WAITS
#define GG_JVM_SERVED_WAITS (10 * 500)
#endif

enum {
	/* The VM puts its guard pages into the stack, and runs Java code there. */
	STACK_BYTES = 1 << 20,
	WAIT_NS = 2000000,
	/* A minute; a program that has no VM by then has no use for one. */
	WAITS_MAX = 60 * 500,
	/* A VM that still starts then, as with a large heap that is touched first. */
	LONG_WAIT_NS = 50000000
};

/* Threads of the VM, as bits. */
enum vm_thread { SERVICE_THREAD = 1, PERIODIC_THREAD = 2 };

typedef jint JNICALL get_created_vms(JavaVM **ret_vms, jsize capacity, jsize *ret_count);

static void *symbol_of(void *library, const char *name)
{
	return library != NULL ? dlsym(library, name) : NULL;
}

/* A library that is not loaded is not found. */
static get_created_vms *find_function(const char **ret_why)
{
	void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
	void *address = symbol_of(library, "JNI_GetCreatedJavaVMs");
	get_created_vms *function = NULL;

	if (address != NULL && dlsym(library, "gHotSpotVMStructs") == NULL)
		*ret_why = "no Java objects are shown: this VM is not HotSpot, as OpenJ9 is not; "
			   "java -agentpath: with libgeiger-jvm.so may do";
	else if (address != NULL)
		memcpy(&function, &address, sizeof(function));
	if (library != NULL && function == NULL)
		dlclose(library);
	return function;
}

static unsigned thread_by_name(const char *comm)
{
	if (strncmp(comm, "Service Thread", 14) == 0)
		return SERVICE_THREAD;
	return strncmp(comm, "VM Periodic Tas", 15) == 0 ? PERIODIC_THREAD : 0;
}

/* Which threads of enum vm_thread this process has. */
static unsigned find_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned found = 0;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		char path[300], comm[32] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, comm, sizeof(comm) - 1) > 0)
			found |= thread_by_name(comm);
		close(fd);
	}
	if (folder != NULL)
		closedir(folder);
	return found;
}

static JavaVM *wait_for_vm(const char **ret_why)
{
	struct timespec pause = { .tv_nsec = WAIT_NS };
	get_created_vms *created = NULL;
	JavaVM *vm = NULL;
	jsize count = 0;
	int served = 0;

	for (int i = 0; (i < WAITS_MAX || count > 0) && *ret_why == NULL; i += i < WAITS_MAX) {
		if (i == WAITS_MAX)
			pause.tv_nsec = LONG_WAIT_NS;
		if (created == NULL)
			created = find_function(ret_why);
		if (created != NULL && created(&vm, 1, &count) == JNI_OK && count > 0) {
			unsigned threads = find_threads();

			served += (threads & SERVICE_THREAD) != 0;
			if ((threads & PERIODIC_THREAD) != 0 || served > GG_JVM_SERVED_WAITS)
				return vm;
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Returns the reason why there are no Java objects; NULL: there are, or there is no VM. */
static const char *join_vm(void)
{
	static char name[] = "geiger";
	JavaVMAttachArgs attach = { JNI_VERSION_1_8, name, NULL };
	const char *why = NULL;
	JavaVM *vm = wait_for_vm(&why);
	void *env;

	/* -agentpath: or an earlier attach has begun.  A thread that joins would take a number. */
	if (vm == NULL || gg_jvm_is_begun())
		return why;
	if ((*vm)->AttachCurrentThreadAsDaemon(vm, &env, &attach) != JNI_OK)
		return "no Java objects are shown: the VM refuses a thread";
	why = gg_jvm_begin(vm, true);
	(*vm)->DetachCurrentThread(vm);
	return why;
}

static void tell(enum gg_region_java state)
{
	const struct gg_agent_functions *agent = gg_embed_agent();

	if (agent != NULL && agent->bytes > offsetof(struct gg_agent_functions, set_java_state))
		agent->set_java_state(state);
}

static void *join(void *nothing)
{
	int64_t before;
	const char *why;

	(void)nothing;
	pthread_setname_np(pthread_self(), "geiger-jvm");
	before = geiger_upstream_begin(); /* its blocks are no memory of the program */
	why = join_vm();
	tell(why != NULL ? GG_JAVA_REFUSED : gg_jvm_is_begun() ? GG_JAVA_JOINED : GG_JAVA_ABSENT);
	geiger_upstream_end(before);
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
	tell(GG_JAVA_JOINING); /* before this returns, so that `geiger attach` waits for the rest */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(&thread, &attributes, join, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (status != 0)
		tell(GG_JAVA_REFUSED);
	return status;
}
