/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vm - the events of the VM, and what becomes of them.
 *
 *   SampledObjectAlloc   a sample: its class, size and stack go to libgeiger, and the object gets a
 *                        tag, a number that counts up
 *   ObjectFree           the object of that tag died: the VM found out at a collection
 *   ThreadStart          the thread's first sample point is drawn with the interval of now
 *   ThreadEnd            an older thread may end before its first sample (older_threads.h)
 *   GarbageCollection... a collection may have been a full one (collections.h)
 *   VMDeath              the VM reports the deaths that it has found so far
 *
 * The VM draws sample points as a Poisson process over the bytes of each thread, and calls back for
 * each object that covers one or more.  It does not tell where in the object the first one lies.
 * That offset has a known law, an exponential one cut off at the object's end, so it is drawn here.
 *
 * The interval that counts is the one with which the thread's sample point was drawn, which the VM
 * does when the thread passes the previous one, before it calls back.  So each thread remembers the
 * interval that was set at its last event.  If the interval changes between that draw and the
 * callback, the thread notes a wrong one for its next sample point: one sample of a thread at most.
 *
 * The VM has one interval for all agents.  It follows the recording's, up to MOST_INTERVAL_BYTES,
 * so that a change is noticed in time.  Samples are thinned out to a larger one.  While recording
 * is off, the VM has that largest interval, and the callbacks return at once.
 *
 * The VM has one sampler, and gives it to one agent.  The first callback after a detach gives it
 * back, so that another profiler can have it; the next attach takes it again.
 *
 * Threads that exist when this agent takes the sampler have a sample point from before:
 *
 *   before JDK 25   The VM counts no bytes while nobody has the sampler.  The sample point is the
 *                   one that the thread drew last, so its interval is known: that of this agent,
 *                   or the VM's own at first.  Only if another agent may have drawn it
 *                   (other_agents.h), it is not known.
 *   from JDK 25 on  The VM counts bytes always.  A thread that has passed its sample point
 *                   meanwhile calls back for its next object that leaves the fast path, whatever
 *                   its size.  That object was not drawn.
 *
 * If the sample point is not known or was not drawn, the thread's first event is no sample, and all
 * later ones are right.  The profile lacks the thread's allocations until that event.
 */
#include "vm.h"

#include <errno.h>
#include <geiger/geiger.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "collections.h"
#include "embed/record_sample.h"
#include "embed/sampling_settings.h"
#include "embed/usdt_probe.h"
#include "frames.h"
#include "methods.h"
#include "object_tag.h"
#include "older_threads.h"
#include "other_agents.h"
#include "stats/sampling/elementary.h"
#include "stats/sampling/rng.h"

enum { MOST_INTERVAL_BYTES = 8 << 20 };

static jvmtiEnv *jvmti;
static uint32_t heap;
static bool is_biased, is_hotspot;
static uint32_t is_begun;         /* 1: the VM calls back */
static uint32_t begun_generation; /* of the recording, at the last begin */

/* The VM's interval, and its interval before gg_jvm_begin(); 0: every allocation. */
static uint64_t vm_interval_bytes, first_interval_bytes;

/*
 * 1, and 1 more whenever the VM gave its sampler and the sample points of threads that existed were
 * not known.
 */
static uint32_t epoch = 1;

/*
 * Guards is_begun, begun_generation, epoch and changes of the VM's interval.  Callbacks only try
 * it, so that none waits for another.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t last_object; /* relaxed: only its own value matters */

static __thread struct {
	uint32_t epoch;         /* at its last event; 0: before its first one */
	uint64_t pending_bytes; /* the interval of the pending sample point, as for the VM */
	struct gg_rng rng;
} thread_state __attribute__((tls_model("initial-exec")));

/* Whether this agent has the VM's sampler. */
static bool has_sampler(void)
{
	return gg_load_acquire(&is_begun) != 0;
}

/* --- the interval --- */

/* The VM takes 0 for every allocation. */
static uint64_t interval_for_vm(void)
{
	uint64_t bytes = gg_embed_is_sampling() ? gg_embed_interval() : MOST_INTERVAL_BYTES;

	if (bytes <= 1)
		return 0;
	return bytes < MOST_INTERVAL_BYTES ? bytes : MOST_INTERVAL_BYTES;
}

/* The caller has the lock. */
static void set_interval(uint64_t bytes)
{
	(*jvmti)->SetHeapSamplingInterval(jvmti, (jint)bytes);
	gg_store_relaxed(&vm_interval_bytes, bytes);
}

/*
 * One thread at a time sets the VM's interval, so the word says what the VM has.  A thread that
 * finds the lock taken leaves the change to the holder, which compares again after unlocking.
 */
static void follow_interval(void)
{
	while (gg_unlikely(interval_for_vm() != gg_load_relaxed(&vm_interval_bytes)) &&
	       has_sampler() && pthread_mutex_trylock(&lock) == 0) {
		if (has_sampler())
			set_interval(interval_for_vm());
		pthread_mutex_unlock(&lock);
	}
}

static void seed_thread(void)
{
	if (!gg_rng_is_seeded(&thread_state.rng))
		gg_rng_seed_from_system(&thread_state.rng);
}

/*
 * Finds the interval of this event's sample point, and notes that of the next one.  False: the
 * thread has that sample point from before this agent took the sampler, and it is not known.
 */
static bool take_pending(uint64_t *ret_bytes)
{
	uint32_t now = gg_load_relaxed(&epoch);
	bool is_seen = thread_state.epoch == now;

	*ret_bytes = is_seen ? thread_state.pending_bytes : gg_load_relaxed(&first_interval_bytes);
	thread_state.epoch = now;
	thread_state.pending_bytes = gg_load_relaxed(&vm_interval_bytes);
	return is_seen || now == 1;
}

/* The probability that an object of that size covers a sample point. */
static double chance(double interval, double bytes)
{
	return interval > 1 ? -gg_expm1(-bytes / interval) : 1;
}

/*
 * Completes the draw of an object that the VM sampled at an interval of `drawn` bytes.  False: the
 * recording's interval is larger, and the object is no sample at that one.
 */
static bool draw(struct gg_embed_sample *sample, uint64_t drawn, uint64_t wanted)
{
	double bytes = (double)sample->bytes, interval = drawn > 1 ? (double)drawn : 1, offset;

	seed_thread();
	if (wanted > drawn && wanted > MOST_INTERVAL_BYTES) {
		double kept = chance((double)wanted, bytes) / chance(interval, bytes);

		if (gg_rng_uniform(&thread_state.rng) >= kept)
			return false;
		interval = (double)wanted;
	}
	sample->draw = (struct gg_draw){ .sampling_interval = interval,
		                         .sample_point_count = 1,
		                         .scheme = GG_SCHEME_POISSON };
	if (!(interval > 1))
		return true;
	offset = -interval * gg_log1p(-gg_rng_uniform(&thread_state.rng) * chance(interval, bytes));
	sample->draw.offset_bytes = offset < bytes ? (uint64_t)offset : sample->bytes - 1;
	if (is_biased)
		sample->draw.scheme = GG_SCHEME_BIASED;
	return true;
}

/* --- the sampler --- */

static const jvmtiCapabilities sampler = { .can_generate_sampled_object_alloc_events = 1 };

/* The caller has the lock. */
static void give_back(void)
{
	(*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
	                                   NULL);
	set_interval(GG_JVM_DEFAULT_INTERVAL_BYTES); /* threads that start now draw with it */
	(*jvmti)->RelinquishCapabilities(jvmti, &sampler);
	gg_store_release(&is_begun, 0);
}

/* gg_jvm_begin() takes the sampler again, so the last look at the agent is under the lock. */
static void give_back_if_detached(void)
{
	struct gg_agent_settings settings;

	if (pthread_mutex_trylock(&lock) != 0)
		return;
	gg_embed_agent()->read_settings(&settings);
	if (settings.change_count == 0 && has_sampler())
		give_back();
	pthread_mutex_unlock(&lock);
}

/* --- events --- */

/* Each frame costs the VM 0.2 us. */
static jint most_frames(void)
{
	uint32_t most = gg_embed_agent()->max_frames();

	return most > 0 && most < GG_JVM_FRAMES_MAX ? (jint)most : GG_JVM_FRAMES_MAX;
}

/* Listeners get the texts of frames and of the type. */
static __attribute__((noinline)) bool record_texts(struct gg_embed_sample *sample, JNIEnv *jni,
                                                   const jvmtiFrameInfo *found, jint count)
{
	struct geiger_frame frames[GG_JVM_FRAMES_MAX];
	bool is_recorded;

	gg_jvm_methods_lock(jvmti, jni, found, (size_t)count);
	for (jint i = 0; i < count; i++)
		gg_jvm_method_frame(&found[i], &frames[i]);
	sample->frames = frames;
	sample->frame_count = (size_t)count;
	sample->flags |= GEIGER_SAMPLE_NO_NATIVE;
	is_recorded = gg_embed_record_sample(heap, sample, __builtin_return_address(0));
	gg_jvm_methods_unlock();
	return is_recorded;
}

/* False: the region did not take the sample. */
static bool record(struct gg_embed_sample *sample, JNIEnv *jni, jclass klass)
{
	jvmtiFrameInfo found[GG_JVM_FRAMES_MAX];
	struct gg_jvm_stack stack;
	char name[GG_JVM_TYPE_BYTES];
	bool has_listeners = gg_load_relaxed(&gg_embed_settings.listener_count) != 0;
	jint count = 0;

	if ((*jvmti)->GetStackTrace(jvmti, NULL, 0, most_frames(), found, &count) !=
	    JVMTI_ERROR_NONE)
		count = 0;
	/* Tracers and listeners get the text. */
	if (gg_unlikely(gg_embed_probe_is_on() || has_listeners) &&
	    gg_jvm_frames_class_name(jvmti, klass, name))
		sample->type = name;
	if (gg_unlikely(has_listeners) && count > 0)
		return record_texts(sample, jni, found, count);
	/* Without a recording there are no addresses. */
	stack.pc_count = stack.generation = 0;
	if (gg_embed_is_recording()) {
		gg_jvm_frames_find(jvmti, jni, found, (size_t)count, &stack);
		sample->type_number = gg_jvm_frames_type(jvmti, jni, klass, &stack);
		/*
		 * Each question to the VM may have lasted as long as a collection.  If another
		 * recording began meanwhile, it has other addresses and types.
		 */
		gg_embed_settings_refresh();
		if (gg_unlikely(stack.generation != gg_load_relaxed(&gg_embed_settings.generation)))
			sample->type_number = 0;
	}
	/*
	 * A thread of the VM has no Java frames, and its native ones tell what it does.  But
	 * readers of totals know samples that are biased by their frames.
	 */
	if (count > 0) {
		sample->pcs = stack.pcs;
		sample->pc_count = stack.pc_count;
		sample->pc_generation = stack.generation;
	} else if (is_biased) {
		static const struct geiger_frame of_vm = { .function = "[VM]" };

		sample->frames = &of_vm;
		sample->frame_count = 1;
		sample->flags |= GEIGER_SAMPLE_NO_NATIVE;
	}
	return gg_embed_record_sample(heap, sample, __builtin_return_address(0));
}

/*
 * The VM allocates its answers by malloc, and the callback frees them before it ends.  They are no
 * memory of the program, so malloc's hooks do not count them.
 */
static void JNICALL on_sample(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object,
                              jclass klass, jlong size)
{
	struct gg_embed_sample sample = { .bytes = size > 0 ? (size_t)size : 1 };
	uint64_t drawn, number;
	int64_t before;
	bool is_known;
	int saved_errno = errno;

	(void)env, (void)thread;
	gg_embed_settings_refresh();
	is_known = take_pending(&drawn);
	/* First: a thread's sample point of the interval while recording is off would stay. */
	if (!gg_embed_is_sampling())
		give_back_if_detached();
	follow_interval();
	gg_jvm_collections_settle(false);
	gg_jvm_older_threads_look(jvmti, jni);
	if (!gg_embed_is_sampling() || !is_known || !draw(&sample, drawn, gg_embed_interval())) {
		errno = saved_errno;
		return;
	}
	sample.begin_ns = gg_clock_monotonic_ns();
	before = geiger_upstream_begin();
	number = gg_add_relaxed(&last_object, 1) + 1;
	sample.object = (const void *)(uintptr_t)number;
	if (record(&sample, jni, klass) &&
	    (*jvmti)->SetTag(jvmti, object,
	                     gg_jvm_tag(number, gg_jvm_collections_ms(sample.begin_ns))) !=
	            JVMTI_ERROR_NONE)
		geiger_freed(heap, sample.object); /* its end would never be known */
	geiger_upstream_end(before);
	errno = saved_errno;
}

static void JNICALL on_free(jvmtiEnv *env, jlong tag)
{
	(void)env;
	gg_jvm_collections_settle(true);
	geiger_freed(heap, (const void *)(uintptr_t)gg_jvm_tag_number(tag));
	gg_jvm_collections_died(gg_jvm_tag_born_ms(tag));
	gg_jvm_older_threads_look(jvmti, NULL);
}

static void JNICALL on_collection_start(jvmtiEnv *env)
{
	(void)env;
	gg_jvm_collection_began();
}

static void JNICALL on_collection_finish(jvmtiEnv *env)
{
	(void)env;
	gg_jvm_collection_ended();
}

/* Disabling the event makes the VM report the deaths that it has found. */
static void JNICALL on_vm_death(jvmtiEnv *env, JNIEnv *jni)
{
	(void)jni;
	if ((*env)->SetEventNotificationMode(env, JVMTI_DISABLE, JVMTI_EVENT_OBJECT_FREE, NULL) ==
	    JVMTI_ERROR_NONE)
		gg_jvm_collections_settled();
	gg_jvm_older_threads_look(env, NULL);
}

static void JNICALL on_thread_start(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	(void)env, (void)jni, (void)thread;
	thread_state.epoch = gg_load_relaxed(&epoch);
	thread_state.pending_bytes = gg_load_relaxed(&vm_interval_bytes);
	gg_jvm_older_threads_started(jvmti);
}

static void JNICALL on_thread_end(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	(void)env, (void)jni, (void)thread;
	gg_jvm_older_threads_ended(jvmti);
}

/* An event that HotSpot has beyond the specification. */
static void JNICALL on_class_unload(jvmtiEnv *env, ...)
{
	(void)env;
	gg_jvm_methods_unloaded(is_hotspot);
}

static void watch_unloads(void)
{
	static const char wanted[] = "com.sun.hotspot.events.ClassUnload";
	jvmtiExtensionEventInfo *events = NULL;
	jint count = 0;

	if ((*jvmti)->GetExtensionEvents(jvmti, &count, &events) != JVMTI_ERROR_NONE)
		return;
	for (jint i = 0; i < count; i++) {
		if (strcmp(events[i].id, wanted) == 0)
			(*jvmti)->SetExtensionEventCallback(jvmti, events[i].extension_event_index,
			                                    on_class_unload);
		for (jint j = 0; j < events[i].param_count; j++)
			(*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].params[j].name);
		(*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].params);
		(*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].id);
		(*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].short_description);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)events);
}

/* --- the beginning --- */

/* Compares with HotSpot's releases; another VM's sampler is not known to be right. */
static void find_kind(void)
{
	char *name = NULL, *version = NULL;

	is_hotspot = (*jvmti)->GetSystemProperty(jvmti, "java.vm.name", &name) ==
	                     JVMTI_ERROR_NONE &&
	             strstr(name, "OpenJ9") == NULL;
	is_biased = !is_hotspot ||
	            (*jvmti)->GetSystemProperty(jvmti, "java.vm.specification.version", &version) !=
	                    JVMTI_ERROR_NONE ||
	            atoi(version) < GG_JVM_UNBIASED_RELEASE;
	(*jvmti)->Deallocate(jvmti, (unsigned char *)name);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)version);
}

/* Whether threads may have a sample point that is not known, or that they have passed already. */
static bool has_unknown_sample_points(JavaVM *vm)
{
	return !is_biased || gg_jvm_has_other_agents(vm);
}

/* `is_live`: the VM has threads. */
static const char *enable(JavaVM *vm, bool is_live)
{
	static const jvmtiEvent wanted[] = {
		JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
		JVMTI_EVENT_OBJECT_FREE,
		JVMTI_EVENT_THREAD_START,
		JVMTI_EVENT_THREAD_END,
		JVMTI_EVENT_GARBAGE_COLLECTION_START,
		JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
		JVMTI_EVENT_VM_DEATH,
	};
	jvmtiEventCallbacks callbacks = {
		.SampledObjectAlloc = on_sample,
		.ObjectFree = on_free,
		.ThreadStart = on_thread_start,
		.ThreadEnd = on_thread_end,
		.GarbageCollectionStart = on_collection_start,
		.GarbageCollectionFinish = on_collection_finish,
		.VMDeath = on_vm_death,
	};
	jvmtiCapabilities capabilities = {
		.can_generate_sampled_object_alloc_events = 1,
		.can_generate_object_free_events = 1,
		.can_tag_objects = 1,
		.can_get_source_file_name = 1,
		.can_get_line_numbers = 1,
		.can_generate_garbage_collection_events = 1,
	};

	if ((*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE)
		return "no Java objects are shown: another agent has the VM's sampler of "
		       "allocations, which serves one at a time, or the VM has none (JEP 331)";
	if (is_live && has_unknown_sample_points(vm))
		gg_add_relaxed(&epoch, 1);
	set_interval(interval_for_vm());
	if ((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE)
		return "no Java objects are shown: the VM refuses the callbacks";
	watch_unloads();
	gg_jvm_collections_find();
	gg_jvm_older_threads_prepare();
	/*
	 * The samples come last, or objects could die unseen.  Threads that start while the older
	 * ones are marked are known by their events.
	 */
	for (size_t i = sizeof(wanted) / sizeof(*wanted); i-- > 0;) {
		if (wanted[i] == JVMTI_EVENT_SAMPLED_OBJECT_ALLOC && is_live)
			gg_jvm_older_threads_mark(vm, jvmti);
		if ((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, wanted[i], NULL) !=
		    JVMTI_ERROR_NONE)
			return "no Java objects are shown: the VM refuses the events";
	}
	gg_jvm_older_threads_begin(gg_load_relaxed(&epoch) == 1);
	return NULL;
}

/* A process with exact counts counts malloc alone. */
static bool is_exact(void)
{
	const struct gg_exact_calls *exact = gg_embed_agent()->exact;

	return exact != NULL && exact->is_on();
}

/* The caller has the lock. */
static const char *prepare(JavaVM *vm, bool is_live)
{
	void *env = NULL;

	if ((*vm)->GetEnv(vm, &env, GG_JVM_LEAST_VERSION) != JNI_OK || env == NULL)
		return "no Java objects are shown: the VM has no JVMTI of version 11";
	jvmti = env;
	find_kind();
	heap = geiger_heap_register("java", NULL);
	/* Threads that exist already have drawn their first sample point. */
	first_interval_bytes = is_live ? GG_JVM_DEFAULT_INTERVAL_BYTES : interval_for_vm();
	return NULL;
}

/* The caller has the lock. */
static bool is_begun_for_recording(void)
{
	gg_embed_settings_refresh();
	return has_sampler() && begun_generation == gg_load_relaxed(&gg_embed_settings.generation);
}

bool gg_jvm_is_begun(void)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = is_begun_for_recording();
	pthread_mutex_unlock(&lock);
	return is;
}

const char *gg_jvm_begin(JavaVM *vm, bool is_live)
{
	const char *why = NULL;

	if (is_exact())
		return NULL;
	pthread_mutex_lock(&lock);
	if (!is_begun_for_recording()) {
		/* No callback came since the detach: an earlier attach took the sampler. */
		if (has_sampler())
			give_back();
		begun_generation = gg_load_relaxed(&gg_embed_settings.generation);
		why = jvmti == NULL ? prepare(vm, is_live) : NULL;
		if (why == NULL)
			why = enable(vm, is_live);
		if (why == NULL)
			gg_store_release(&is_begun, 1);
		else if (jvmti != NULL)
			give_back();
	}
	pthread_mutex_unlock(&lock);
	return why;
}
