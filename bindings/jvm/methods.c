/* SPDX-License-Identifier: Apache-2.0 */
/* methods - a table by jmethodID, filled from JVMTI. */
#include "methods.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/java_name.h"

enum {
	FIRST_CAPACITY = 4096, /* a power of 2 */
	CHUNK_BYTES = 1 << 20,
	NAME_BYTES = 512,
	LINES_MAX = 4096, /* of one method; the rest has no line */
	ROUNDS_MAX = 4
};

struct line {
	uint32_t start; /* bytecode index */
	uint32_t line;
};

struct method {
	jmethodID id;
	const char *function, *file; /* file NULL: not known */
	const struct line *lines;
	uint32_t line_count;
};

/* Texts and methods, freed all at once. */
struct chunk {
	struct chunk *next;
	size_t used_bytes, bytes;
};

/*
 * `lock` guards all of this.  A writer goes first: readers come without end where many threads
 * allocate.
 */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct chunk *chunks;
static struct method **table; /* open addressing */
static size_t capacity;

/* Changed by a writer; also read without the lock, for a hint. */
static size_t count;
static uint32_t known_unloads; /* of `unloads`, when the table was empty */
static uint32_t epoch;         /* how often it was emptied */

/* Classes that were unloaded.  Relaxed: only the number matters. */
static uint32_t unloads;
static uint32_t may_reuse; /* 1: their jmethodIDs may be those of other methods now */

/* --- memory; the caller has the lock for writing --- */

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

/* NULL: no memory is left. */
static void *take(size_t bytes)
{
	struct chunk *chunk = chunks;
	size_t whole = CHUNK_BYTES;
	void *p;

	bytes = (bytes + 7) & ~(size_t)7;
	if (chunk == NULL || chunk->bytes - chunk->used_bytes < bytes) {
		while (whole < bytes + sizeof(*chunk))
			whole *= 2;
		chunk = map(whole);
		if (chunk == NULL)
			return NULL;
		*chunk = (struct chunk){ chunks, sizeof(*chunk), whole };
		chunks = chunk;
	}
	p = (char *)chunk + chunk->used_bytes;
	chunk->used_bytes += bytes;
	return p;
}

static const char *take_text(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = take(bytes);

	if (copy != NULL)
		memcpy(copy, text, bytes);
	return copy;
}

static void forget_all(void)
{
	while (chunks != NULL) {
		struct chunk *next = chunks->next;

		munmap(chunks, chunks->bytes);
		chunks = next;
	}
	if (table != NULL)
		memset(table, 0, capacity * sizeof(*table));
	gg_store_relaxed(&count, 0);
}

/* --- the table --- */

static size_t slot_of(struct method *const *in, size_t size, jmethodID id)
{
	size_t i = ((uint64_t)(uintptr_t)id * 0x9e3779b97f4a7c15u >> 32) & (size - 1);

	while (in[i] != NULL && in[i]->id != id)
		i = (i + 1) & (size - 1);
	return i;
}

/* The caller has the lock. */
static struct method *find(jmethodID id)
{
	return capacity != 0 ? table[slot_of(table, capacity, id)] : NULL;
}

static bool grow(void)
{
	size_t more = capacity != 0 ? 2 * capacity : FIRST_CAPACITY;
	struct method **grown = map(more * sizeof(*grown));

	if (grown == NULL)
		return false;
	for (size_t i = 0; i < capacity; i++)
		if (table[i] != NULL)
			grown[slot_of(grown, more, table[i]->id)] = table[i];
	if (table != NULL)
		munmap(table, capacity * sizeof(*table));
	table = grown;
	capacity = more;
	return true;
}

/* --- asking the VM; without the lock --- */

struct answer {
	char function[2 * NAME_BYTES];
	char *file;                  /* of JVMTI */
	jvmtiLineNumberEntry *lines; /* of JVMTI */
	jint line_count;
};

static void give_back(jvmtiEnv *jvmti, void *p)
{
	if (p != NULL)
		(*jvmti)->Deallocate(jvmti, p);
}

/*
 * The frame is on this thread's stack, so its class cannot be unloaded.  A deep stack has more
 * methods than a callback may have local references: with -Xcheck:jni, the VM would print that.
 */
static void ask(jvmtiEnv *jvmti, JNIEnv *jni, jmethodID id, struct answer *ret_answer)
{
	char *name = NULL, *signature = NULL;
	jclass klass = NULL;
	size_t length = 0;

	*ret_answer = (struct answer){ .file = NULL };
	if ((*jvmti)->GetMethodDeclaringClass(jvmti, id, &klass) == JVMTI_ERROR_NONE) {
		if ((*jvmti)->GetClassSignature(jvmti, klass, &signature, NULL) == JVMTI_ERROR_NONE)
			length = gg_java_class_name(signature, ret_answer->function, NAME_BYTES);
		if ((*jvmti)->GetSourceFileName(jvmti, klass, &ret_answer->file) !=
		    JVMTI_ERROR_NONE)
			ret_answer->file = NULL;
		(*jni)->DeleteLocalRef(jni, klass);
	}
	if ((*jvmti)->GetMethodName(jvmti, id, &name, NULL, NULL) == JVMTI_ERROR_NONE) {
		size_t bytes = strnlen(name, NAME_BYTES - 1);

		if (length > 0)
			ret_answer->function[length++] = '.';
		memcpy(ret_answer->function + length, name, bytes);
		ret_answer->function[length + bytes] = '\0';
	}
	if ((*jvmti)->GetLineNumberTable(jvmti, id, &ret_answer->line_count, &ret_answer->lines) !=
	    JVMTI_ERROR_NONE)
		ret_answer->line_count = 0, ret_answer->lines = NULL;
	give_back(jvmti, name);
	give_back(jvmti, signature);
}

static void answer_done(jvmtiEnv *jvmti, struct answer *answer)
{
	give_back(jvmti, answer->file);
	give_back(jvmti, answer->lines);
}

/* The caller has the lock for writing. */
static void keep(jmethodID id, const struct answer *answer)
{
	struct method *method;
	struct line *lines;
	size_t slot, line_count = answer->line_count > 0 ? (size_t)answer->line_count : 0;

	if (2 * (count + 1) > capacity && !grow())
		return;
	slot = slot_of(table, capacity, id);
	method = table[slot] == NULL ? take(sizeof(*method)) : NULL;
	if (method == NULL)
		return;
	if (line_count > LINES_MAX)
		line_count = LINES_MAX;
	lines = line_count > 0 ? take(line_count * sizeof(*lines)) : NULL;
	for (size_t i = 0; lines != NULL && i < line_count; i++)
		lines[i] = (struct line){ (uint32_t)answer->lines[i].start_location,
			                  (uint32_t)answer->lines[i].line_number };
	*method = (struct method){
		.id = id,
		.function = take_text(answer->function),
		.file = answer->file != NULL ? take_text(answer->file) : NULL,
		.lines = lines,
		.line_count = lines != NULL ? (uint32_t)line_count : 0,
	};
	if (method->function == NULL)
		return;
	table[slot] = method;
	gg_store_relaxed(&count, count + 1);
}

static void learn(jvmtiEnv *jvmti, JNIEnv *jni, jmethodID id)
{
	struct answer answer;

	ask(jvmti, jni, id, &answer);
	pthread_rwlock_wrlock(&lock);
	keep(id, &answer);
	pthread_rwlock_unlock(&lock);
	answer_done(jvmti, &answer);
}

/* Certain if the caller has the lock. */
static bool must_forget(uint32_t now)
{
	return gg_load_relaxed(&known_unloads) != now &&
	       (gg_load_relaxed(&count) > GG_JVM_METHODS_KEPT || gg_load_relaxed(&may_reuse) != 0);
}

static void forget_unloaded(void)
{
	uint32_t now = gg_load_relaxed(&unloads);

	pthread_rwlock_wrlock(&lock);
	if (must_forget(now)) {
		forget_all();
		gg_store_relaxed(&known_unloads, now);
		gg_add_relaxed(&epoch, 1);
	}
	pthread_rwlock_unlock(&lock);
}

uint32_t gg_jvm_methods_epoch(void)
{
	if (gg_unlikely(must_forget(gg_load_relaxed(&unloads))))
		forget_unloaded();
	return gg_load_relaxed(&epoch);
}

void gg_jvm_methods_lock(jvmtiEnv *jvmti, JNIEnv *jni, const jvmtiFrameInfo *frames,
                         size_t frame_count)
{
	bool learned = true;

	pthread_rwlock_rdlock(&lock);
	if (must_forget(gg_load_relaxed(&unloads))) {
		pthread_rwlock_unlock(&lock);
		forget_unloaded();
		pthread_rwlock_rdlock(&lock);
	}
	/* While this thread learns, another one may empty the table: then a second round helps. */
	for (int round = 0; round < ROUNDS_MAX && learned; round++) {
		learned = false;
		for (size_t i = 0; i < frame_count; i++) {
			if (find(frames[i].method) != NULL)
				continue;
			pthread_rwlock_unlock(&lock);
			learn(jvmti, jni, frames[i].method);
			learned = true;
			pthread_rwlock_rdlock(&lock);
		}
	}
}

void gg_jvm_methods_unlock(void)
{
	pthread_rwlock_unlock(&lock);
}

void gg_jvm_methods_unloaded(bool is_hotspot)
{
	if (!is_hotspot)
		gg_store_relaxed(&may_reuse, 1);
	gg_add_relaxed(&unloads, 1);
}

/* The table need not be sorted: the line is that of the last start before the index. */
static uint32_t line_at(const struct method *method, jlocation location)
{
	uint32_t line = 0, best = 0;

	if (location < 0) /* -1: a native method */
		return 0;
	for (uint32_t i = 0; i < method->line_count; i++) {
		const struct line *entry = &method->lines[i];

		if (entry->start <= (uint64_t)location && (line == 0 || entry->start >= best)) {
			best = entry->start;
			line = entry->line;
		}
	}
	return line;
}

bool gg_jvm_method_frame(const jvmtiFrameInfo *from, struct geiger_frame *ret_frame)
{
	const struct method *method = find(from->method);

	*ret_frame = (struct geiger_frame){ .function = "[unknown Java method]" };
	if (method == NULL)
		return false;
	ret_frame->function = method->function;
	ret_frame->file = method->file;
	ret_frame->line = line_at(method, from->location);
	return true;
}
