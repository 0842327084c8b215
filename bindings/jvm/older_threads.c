/* SPDX-License-Identifier: Apache-2.0 */
/* older_threads - marks by JVMTI, and counts for the region. */
#include "older_threads.h"

#include <string.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "collections.h"
#include "embed/sampling_settings.h"
#include "vm.h"

/*
 * All relaxed: a late look makes figures uncertain for longer, never for too short.  Counts are of
 * the threads with a mark; sampled_count and ended_count only grow until the next join.
 */
static uint32_t join_count; /* how often the adapter has joined */
static uint32_t thread_count, sampled_count, ended_count;
static uint32_t is_marking; /* 1: threads may get marks */
static uint32_t is_untold;  /* 1: the region does not have the latest counts */
/* 1: the samples are enabled, and each thread's first event is one. */
static uint32_t collections_count;

/* The join in which this thread had its last event, or its start. */
static __thread uint32_t seen_join __attribute__((tls_model("initial-exec")));

/*
 * Values in the local storage of a thread: it is older than the last join, or it started while
 * threads were marked.
 */
static const void *mark(void)
{
	return (const void *)(2 * (uintptr_t)gg_load_relaxed(&join_count));
}

static const void *fresh(void)
{
	return (const void *)(2 * (uintptr_t)gg_load_relaxed(&join_count) + 1);
}

static void tell(void)
{
	const struct gg_agent_functions *agent = gg_embed_agent();

	if (agent->bytes <= offsetof(struct gg_agent_functions, count_java_threads))
		return;
	gg_store_relaxed(&is_untold, 0);
	if (!agent->count_java_threads(gg_load_relaxed(&thread_count),
	                               gg_load_relaxed(&sampled_count),
	                               gg_load_relaxed(&ended_count)))
		gg_store_relaxed(&is_untold, 1);
}

static bool have_all_come(void)
{
	return gg_load_relaxed(&is_marking) == 0 &&
	       gg_load_relaxed(&sampled_count) + gg_load_relaxed(&ended_count) >=
	               gg_load_relaxed(&thread_count);
}

/* The value in the thread's local storage; `thread` NULL: the current one. */
static const void *stored(jvmtiEnv *jvmti, jthread thread)
{
	void *found = NULL;

	return (*jvmti)->GetThreadLocalStorage(jvmti, thread, &found) == JVMTI_ERROR_NONE ? found
	                                                                                  : NULL;
}

/* The name of the thread's group, for JVMTI to deallocate; NULL: not known. */
static char *group_of(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
	jvmtiThreadInfo info = { .name = NULL };
	jvmtiThreadGroupInfo group = { .name = NULL };

	if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) != JVMTI_ERROR_NONE)
		return NULL;
	if (info.thread_group != NULL &&
	    (*jvmti)->GetThreadGroupInfo(jvmti, info.thread_group, &group) != JVMTI_ERROR_NONE)
		group = (jvmtiThreadGroupInfo){ .name = NULL };
	(*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
	(*jni)->DeleteLocalRef(jni, info.thread_group);
	(*jni)->DeleteLocalRef(jni, info.context_class_loader);
	(*jni)->DeleteLocalRef(jni, group.parent);
	return group.name;
}

/* The groups of the threads that the VM starts by itself. */
static bool is_of_vm(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
	char *group = group_of(jvmti, jni, thread);
	bool is = group != NULL &&
	          (strcmp(group, "system") == 0 || strcmp(group, "InnocuousThreadGroup") == 0);

	(*jvmti)->Deallocate(jvmti, (unsigned char *)group);
	return is;
}

static uint32_t mark_threads(jvmtiEnv *jvmti, JNIEnv *jni)
{
	jthread *threads, own = NULL;
	jint found = 0;
	uint32_t count = 0;

	if ((*jvmti)->GetCurrentThread(jvmti, &own) == JVMTI_ERROR_NONE &&
	    (*jvmti)->GetAllThreads(jvmti, &found, &threads) == JVMTI_ERROR_NONE) {
		for (jint i = 0; i < found; i++) {
			if (!(*jni)->IsSameObject(jni, threads[i], own) &&
			    stored(jvmti, threads[i]) != fresh() &&
			    !is_of_vm(jvmti, jni, threads[i]) &&
			    (*jvmti)->SetThreadLocalStorage(jvmti, threads[i], mark()) ==
			            JVMTI_ERROR_NONE)
				count++;
			(*jni)->DeleteLocalRef(jni, threads[i]);
		}
		(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
	}
	(*jni)->DeleteLocalRef(jni, own);
	return count;
}

void gg_jvm_older_threads_prepare(void)
{
	gg_store_relaxed(&collections_count, 0);
	gg_store_relaxed(&is_marking, 1);
	gg_add_relaxed(&join_count, 1);
	gg_store_relaxed(&sampled_count, 0);
	gg_store_relaxed(&ended_count, 0);
	gg_store_relaxed(&thread_count, 0);
}

void gg_jvm_older_threads_mark(JavaVM *vm, jvmtiEnv *jvmti)
{
	void *jni = NULL;

	if ((*vm)->GetEnv(vm, &jni, JNI_VERSION_1_8) == JNI_OK)
		gg_store_relaxed(&thread_count, mark_threads(jvmti, jni));
}

void gg_jvm_older_threads_begin(bool first_counts)
{
	gg_store_relaxed(&is_marking, 0);
	gg_jvm_collections_note_buffers();
	gg_store_release(&collections_count, first_counts);
	tell();
}

/* Whether the current thread had a mark, which it has no more. */
static bool take_mark(jvmtiEnv *jvmti)
{
	return stored(jvmti, NULL) == mark() &&
	       (*jvmti)->SetThreadLocalStorage(jvmti, NULL, NULL) == JVMTI_ERROR_NONE;
}

/* Whether the event is of a virtual thread.  Its carrier has had no event since the join. */
static bool is_virtual(jvmtiEnv *jvmti, JNIEnv *jni)
{
	jthread own = NULL;
	char *group;
	bool is;

	if ((*jvmti)->GetCurrentThread(jvmti, &own) != JVMTI_ERROR_NONE)
		return false;
	group = group_of(jvmti, jni, own);
	is = group != NULL && strcmp(group, "VirtualThreads") == 0;
	(*jvmti)->Deallocate(jvmti, (unsigned char *)group);
	(*jni)->DeleteLocalRef(jni, own);
	return is;
}

static bool collection_sufficed(void)
{
	return gg_load_acquire(&collections_count) != 0 &&
	       gg_embed_interval() >= GG_JVM_DEFAULT_INTERVAL_BYTES &&
	       gg_jvm_collections_took_buffers();
}

/* `jni` NULL: no sample. */
void gg_jvm_older_threads_look(jvmtiEnv *jvmti, JNIEnv *jni)
{
	uint32_t join = gg_load_relaxed(&join_count);
	bool is_first = jni != NULL && seen_join != join;

	if (jni != NULL)
		seen_join = join;
	if (gg_likely(have_all_come() && gg_load_relaxed(&is_untold) == 0))
		return;
	if (is_first && (take_mark(jvmti) || is_virtual(jvmti, jni)))
		gg_add_relaxed(&sampled_count, 1);
	else if (!have_all_come() && collection_sufficed())
		gg_store_relaxed(&sampled_count, gg_load_relaxed(&thread_count));
	else if (gg_load_relaxed(&is_untold) == 0)
		return;
	tell();
}

void gg_jvm_older_threads_started(jvmtiEnv *jvmti)
{
	seen_join = gg_load_relaxed(&join_count);
	if (gg_likely(have_all_come()))
		return;
	/* It was found and marked before this event: its buffers are new all the same. */
	if (take_mark(jvmti)) {
		gg_add_relaxed(&sampled_count, 1);
		tell();
	} else if (gg_load_relaxed(&is_marking) != 0) {
		(*jvmti)->SetThreadLocalStorage(jvmti, NULL, fresh());
	}
}

void gg_jvm_older_threads_ended(jvmtiEnv *jvmti)
{
	if (gg_likely(have_all_come()) || seen_join == gg_load_relaxed(&join_count) ||
	    !take_mark(jvmti))
		return;
	gg_add_relaxed(&ended_count, 1);
	tell();
}
