/* SPDX-License-Identifier: Apache-2.0 */
/* frames - a table by method and bytecode index. */
#include "frames.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/java_name.h"
#include "embed/counts.h"
#include "embed/name_ids.h"
#include "embed/sampling_settings.h"
#include "methods.h"

enum {
	FIRST_CAPACITY = 1024, /* a power of 2 */
	/* A frame that had so many classes one after the other remembers none. */
	CLASSES_OF_FRAME = 4
};

struct frame {
	jmethodID method; /* NULL: empty */
	uint64_t pc;
	jweak klass; /* NULL: none */
	int32_t location;
	uint16_t type;
	uint16_t class_count; /* classes that it has had */
};

_Static_assert(sizeof(struct frame) == 32, "two frames share a line of memory");

/* `lock` guards all of this.  A writer goes first, as for methods. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct frame *table; /* open addressing */
static size_t capacity, count;
static uint32_t table_generation; /* of the recording, as the table has it */
static uint32_t table_methods;    /* gg_jvm_methods_epoch() */

static uint32_t class_count; /* relaxed: weak references that were made */

/* --- the table; the caller has the lock --- */

static struct frame *slot_of(struct frame *in, size_t size, jmethodID method, int32_t location)
{
	uint64_t key = (uint64_t)(uintptr_t)method + (uint32_t)location;
	size_t i = (key * 0x9e3779b97f4a7c15u >> 32) & (size - 1);

	while (in[i].method != NULL && (in[i].method != method || in[i].location != location))
		i = (i + 1) & (size - 1);
	return &in[i];
}

static bool is_current(uint32_t generation, uint32_t methods)
{
	return table_generation == generation && table_methods == methods;
}

/* NULL: the frame is new. */
static const struct frame *find(const jvmtiFrameInfo *frame)
{
	const struct frame *found;

	if (capacity == 0)
		return NULL;
	found = slot_of(table, capacity, frame->method, (int32_t)frame->location);
	return found->method != NULL ? found : NULL;
}

/* The caller has the lock for writing, as for the functions below. */
static bool grow(void)
{
	size_t more = capacity != 0 ? 2 * capacity : FIRST_CAPACITY;
	struct frame *grown = mmap(NULL, more * sizeof(*grown), PROT_READ | PROT_WRITE,
	                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (grown == MAP_FAILED)
		return false;
	for (size_t i = 0; i < capacity; i++)
		if (table[i].method != NULL)
			*slot_of(grown, more, table[i].method, table[i].location) = table[i];
	if (table != NULL)
		munmap(table, capacity * sizeof(*table));
	table = grown;
	capacity = more;
	return true;
}

static void forget_all(uint32_t generation, uint32_t methods)
{
	if (table != NULL)
		memset(table, 0, capacity * sizeof(*table));
	count = 0;
	table_generation = generation;
	table_methods = methods;
}

static void keep(const jvmtiFrameInfo *frame, uint64_t pc)
{
	struct frame *to;

	if (2 * (count + 1) > capacity && !grow())
		return;
	to = slot_of(table, capacity, frame->method, (int32_t)frame->location);
	count += to->method == NULL;
	*to = (struct frame){ .method = frame->method,
		              .location = (int32_t)frame->location,
		              .pc = pc };
}

/* --- frames --- */

/*
 * The region's address of a frame, by its texts; 0: the region has no room for the frame.  False:
 * the method is not known now, so the address stands for no name.
 */
static bool intern(jvmtiEnv *jvmti, JNIEnv *jni, const jvmtiFrameInfo *frame, uint64_t *ret_pc)
{
	struct geiger_frame texts;
	struct gg_frame_info info;
	bool is_known;

	gg_jvm_methods_lock(jvmti, jni, frame, 1);
	is_known = gg_jvm_method_frame(frame, &texts);
	info = (struct gg_frame_info){ .function = texts.function,
		                       .file = texts.file != NULL ? texts.file : "",
		                       .line = texts.line };
	info.function_bytes = strlen(info.function);
	info.file_bytes = strlen(info.file);
	*ret_pc = gg_embed_agent()->frame(&info);
	gg_jvm_methods_unlock();
	if (*ret_pc == 0)
		gg_embed_count(GG_EMBED_NAMES_DROPPED);
	return is_known;
}

/* A frame without an address or a name is looked up again each time. */
static uint64_t learn(jvmtiEnv *jvmti, JNIEnv *jni, const jvmtiFrameInfo *frame,
                      uint32_t generation, uint32_t methods)
{
	uint64_t pc;

	if (!intern(jvmti, jni, frame, &pc) || pc == 0)
		return pc;
	pthread_rwlock_wrlock(&lock);
	if (is_current(generation, methods))
		keep(frame, pc);
	pthread_rwlock_unlock(&lock);
	return pc;
}

static void lock_current(uint32_t generation, uint32_t methods)
{
	pthread_rwlock_rdlock(&lock);
	if (gg_likely(is_current(generation, methods)))
		return;
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_wrlock(&lock);
	if (!is_current(generation, methods))
		forget_all(generation, methods);
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_rdlock(&lock);
}

void gg_jvm_frames_find(jvmtiEnv *jvmti, JNIEnv *jni, const jvmtiFrameInfo *frames,
                        size_t frame_count, struct gg_jvm_stack *ret_stack)
{
	uint32_t generation = gg_load_relaxed(&gg_embed_settings.generation);
	uint32_t methods = gg_jvm_methods_epoch();
	uint32_t pc_count = 0;
	uint64_t pc = 0;

	ret_stack->generation = generation;
	ret_stack->klass = NULL;
	ret_stack->innermost = frame_count > 0 ? frames[0] : (jvmtiFrameInfo){ .method = NULL };
	lock_current(generation, methods);
	for (size_t i = 0; i < frame_count; i++) {
		const struct frame *found;

		/* Recursion shows the same frame again and again. */
		if (i == 0 || frames[i].method != frames[i - 1].method ||
		    frames[i].location != frames[i - 1].location) {
			/* The lock was given back meanwhile, and another thread may be ahead. */
			found = is_current(generation, methods) ? find(&frames[i]) : NULL;
			pc = found != NULL ? found->pc : 0;
			if (i == 0 && found != NULL) {
				ret_stack->klass = found->klass;
				ret_stack->type = found->type;
			}
			if (found == NULL) {
				pthread_rwlock_unlock(&lock);
				pc = learn(jvmti, jni, &frames[i], generation, methods);
				pthread_rwlock_rdlock(&lock);
			}
		}
		if (pc != 0)
			ret_stack->pcs[pc_count++] = pc;
	}
	pthread_rwlock_unlock(&lock);
	ret_stack->pc_count = pc_count;
}

/* --- types --- */

bool gg_jvm_frames_class_name(jvmtiEnv *jvmti, jclass klass, char name[GG_JVM_TYPE_BYTES])
{
	char *signature;

	if ((*jvmti)->GetClassSignature(jvmti, klass, &signature, NULL) != JVMTI_ERROR_NONE)
		return false;
	gg_java_class_name(signature, name, GG_JVM_TYPE_BYTES);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
	return true;
}

static uint16_t ask_type(jvmtiEnv *jvmti, jclass klass)
{
	char name[GG_JVM_TYPE_BYTES];

	return gg_jvm_frames_class_name(jvmti, klass, name) ? gg_embed_type_number(name) : 0;
}

/* Whether the innermost frame may remember another class. */
static bool wants_class(const struct gg_jvm_stack *stack)
{
	const struct frame *found;
	bool wants;

	pthread_rwlock_rdlock(&lock);
	found = table_generation == stack->generation ? find(&stack->innermost) : NULL;
	wants = found != NULL && found->class_count < CLASSES_OF_FRAME;
	pthread_rwlock_unlock(&lock);
	return wants;
}

static void remember(const struct gg_jvm_stack *stack, jweak klass, uint16_t type)
{
	struct frame *to;

	pthread_rwlock_wrlock(&lock);
	/* NULL: the table was emptied meanwhile. */
	to = table_generation == stack->generation ? (struct frame *)find(&stack->innermost) : NULL;
	if (to != NULL) {
		to->klass = ++to->class_count < CLASSES_OF_FRAME ? klass : NULL;
		to->type = type;
	}
	pthread_rwlock_unlock(&lock);
}

uint16_t gg_jvm_frames_type(jvmtiEnv *jvmti, JNIEnv *jni, jclass klass,
                            const struct gg_jvm_stack *stack)
{
	uint16_t type;
	jweak weak;

	if (stack->klass != NULL && (*jni)->IsSameObject(jni, stack->klass, klass))
		return stack->type;
	type = ask_type(jvmti, klass);
	if (type == 0 || stack->innermost.method == NULL || !wants_class(stack) ||
	    gg_add_relaxed(&class_count, 1) >= GG_JVM_CLASSES_KEPT)
		return type;
	weak = (*jni)->NewWeakGlobalRef(jni, klass);
	if (weak != NULL)
		remember(stack, weak, type);
	else
		(*jni)->ExceptionClear(jni); /* OutOfMemoryError; the program did not ask */
	return type;
}
