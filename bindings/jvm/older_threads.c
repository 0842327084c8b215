/* SPDX-License-Identifier: Apache-2.0 */
/* older_threads - marks by JVMTI, and counts for the region. */
#include "older_threads.h"

#include <string.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "collections.h"
#include "embed/sampling_settings.h"
#include "vm.h"

/* All relaxed: a late look makes figures uncertain for longer, never for too short. */
static uint32_t join_count; /* how often the adapter has joined */
static uint32_t thread_count, sampled_count;

/* The join in which this thread had its last event, or its start. */
static __thread uint32_t seen_join __attribute__((tls_model("initial-exec")));

static const char mark; /* its address */

static void tell(uint32_t sampled)
{
	uint32_t count = gg_load_relaxed(&thread_count);

	if (gg_embed_agent()->bytes > offsetof(struct gg_agent_functions, count_java_threads))
		gg_embed_agent()->count_java_threads(count, sampled < count ? sampled : count);
}

/* The groups of the threads that the VM starts by itself. */
static bool is_of_vm(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
	jvmtiThreadInfo info = { .name = NULL };
	jvmtiThreadGroupInfo group = { .name = NULL };
	bool is = false;

	if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) != JVMTI_ERROR_NONE)
		return false;
	if (info.thread_group != NULL &&
	    (*jvmti)->GetThreadGroupInfo(jvmti, info.thread_group, &group) == JVMTI_ERROR_NONE)
		is = strcmp(group.name, "system") == 0 ||
		     strcmp(group.name, "InnocuousThreadGroup") == 0;
	(*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)group.name);
	(*jni)->DeleteLocalRef(jni, info.thread_group);
	(*jni)->DeleteLocalRef(jni, info.context_class_loader);
	(*jni)->DeleteLocalRef(jni, group.parent);
	return is;
}

static uint32_t mark_threads(jvmtiEnv *jvmti, JNIEnv *jni)
{
	jthread *threads, own = NULL;
	jint found = 0;
	uint32_t count = 0;

	if ((*jvmti)->GetCurrentThread(jvmti, &own) != JVMTI_ERROR_NONE ||
	    (*jvmti)->GetAllThreads(jvmti, &found, &threads) != JVMTI_ERROR_NONE)
		return 0;
	for (jint i = 0; i < found; i++) {
		if (!(*jni)->IsSameObject(jni, threads[i], own) &&
		    !is_of_vm(jvmti, jni, threads[i]) &&
		    (*jvmti)->SetThreadLocalStorage(jvmti, threads[i], &mark) == JVMTI_ERROR_NONE)
			count++;
		(*jni)->DeleteLocalRef(jni, threads[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
	(*jni)->DeleteLocalRef(jni, own);
	return count;
}

void gg_jvm_older_threads_begin(JavaVM *vm, jvmtiEnv *jvmti, bool is_live)
{
	void *jni = NULL;

	gg_add_relaxed(&join_count, 1);
	gg_store_relaxed(&sampled_count, 0);
	gg_store_relaxed(&thread_count, 0);
	if (!is_live || (*vm)->GetEnv(vm, &jni, JNI_VERSION_1_8) != JNI_OK)
		return;
	gg_store_relaxed(&thread_count, mark_threads(jvmti, jni));
	tell(0);
}

static bool is_marked(jvmtiEnv *jvmti)
{
	void *found = NULL;

	return (*jvmti)->GetThreadLocalStorage(jvmti, NULL, &found) == JVMTI_ERROR_NONE &&
	       found == &mark &&
	       (*jvmti)->SetThreadLocalStorage(jvmti, NULL, NULL) == JVMTI_ERROR_NONE;
}

void gg_jvm_older_threads_look(jvmtiEnv *jvmti, bool is_sample)
{
	uint32_t join = gg_load_relaxed(&join_count);
	uint32_t count = gg_load_relaxed(&thread_count);
	bool is_first = is_sample && seen_join != join;

	if (is_sample)
		seen_join = join;
	if (gg_likely(gg_load_relaxed(&sampled_count) >= count))
		return;
	if (gg_embed_interval() >= GG_JVM_DEFAULT_INTERVAL_BYTES &&
	    gg_jvm_collections_took_buffers()) {
		gg_store_relaxed(&sampled_count, count);
		tell(count);
	} else if (is_first && is_marked(jvmti)) {
		tell(gg_add_relaxed(&sampled_count, 1) + 1);
	}
}

void gg_jvm_older_threads_started(void)
{
	seen_join = gg_load_relaxed(&join_count);
}
