/* SPDX-License-Identifier: Apache-2.0 */
/* collections - the VM's own count of full collections, and when it last grew. */
#include "collections.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "embed/sampling_settings.h"

enum {
	COLLECTORS = 3,            /* of a VM: 0 young, 1 full, 2 concurrent */
	SETTLED_NS = 500 * 1000000 /* the VM reports deaths within milliseconds */
};

/* The head of the VM's counters, and of each counter; numbers have the machine's order. */
struct perf_head {
	uint8_t magic[4], order, major, minor, is_accessible;
	int32_t used_bytes, overflow;
	int64_t modified;
	int32_t entry_offset, entry_count;
};

struct perf_entry {
	int32_t bytes, name_offset, vector_length;
	uint8_t type, flags, unit, variability;
	int32_t data_offset;
};

static const int64_t *full_count; /* the VM's; NULL: not found */

/*
 * Those of young and full collections, which take the buffers of all threads, and what they were
 * when the VM's sampler was enabled.  Concurrent cycles are no such collections.
 */
static const int64_t *buffer_counts[COLLECTORS];
static int64_t counts_before[COLLECTORS];

static bool deaths_prove; /* an object dies only by a collection of the whole heap */
static uint64_t start_ns; /* CLOCK_MONOTONIC, when the adapter joined first */

/* All relaxed: one collection runs at a time, and the VM orders its begin and its end. */
static uint64_t began_ns;   /* the last collection that began */
static uint64_t last_count; /* *full_count, as last seen */
static uint64_t
	waiting_ns; /* the begin of a full collection that the recording does not know yet, or 0 */
static uint64_t waiting_from; /* when it ended */
static uint64_t proven_ms;    /* the latest birth of an object that died */

/* --- the VM's count --- */

static bool read_number(void *library, const char *name, uint64_t *ret_number)
{
	const void *address = dlsym(library, name);

	if (address != NULL)
		memcpy(ret_number, address, sizeof(*ret_number));
	return address != NULL;
}

static const char *text_at(uintptr_t entry, uint64_t offset)
{
	const char *text;

	memcpy(&text, (const void *)(entry + offset), sizeof(text));
	return text != NULL ? text : "";
}

static uint64_t number_at(uintptr_t entry, uint64_t offset)
{
	uint64_t number;

	memcpy(&number, (const void *)(entry + offset), sizeof(number));
	return number;
}

/* A member of a class of the VM.  False: the class has no such member. */
struct member {
	const void *address; /* of a static one, or NULL */
	uint64_t offset;     /* of another one */
};

static bool find_member(void *library, const char *class, const char *member,
                        struct member *ret_member)
{
	uint64_t entry, stride, class_at, member_at, address_at, offset_at;

	if (!read_number(library, "gHotSpotVMStructs", &entry) ||
	    !read_number(library, "gHotSpotVMStructEntryArrayStride", &stride) ||
	    !read_number(library, "gHotSpotVMStructEntryTypeNameOffset", &class_at) ||
	    !read_number(library, "gHotSpotVMStructEntryFieldNameOffset", &member_at) ||
	    !read_number(library, "gHotSpotVMStructEntryAddressOffset", &address_at) ||
	    !read_number(library, "gHotSpotVMStructEntryOffsetOffset", &offset_at) || entry == 0 ||
	    stride == 0)
		return false;
	for (; *text_at(entry, class_at) != '\0'; entry += stride)
		if (strcmp(text_at(entry, class_at), class) == 0 &&
		    strcmp(text_at(entry, member_at), member) == 0) {
			ret_member->address = (const void *)(uintptr_t)number_at(entry, address_at);
			ret_member->offset = number_at(entry, offset_at);
			return true;
		}
	return false;
}

/* The address of a static member; NULL: the class has no such member. */
static const void *static_member(void *library, const char *class, const char *member)
{
	struct member found;

	return find_member(library, class, member, &found) ? found.address : NULL;
}

/* The size of a class of the VM; 0: there is no such class. */
static uint64_t class_bytes(void *library, const char *class)
{
	uint64_t entry, stride, class_at, size_at;

	if (!read_number(library, "gHotSpotVMTypes", &entry) ||
	    !read_number(library, "gHotSpotVMTypeEntryArrayStride", &stride) ||
	    !read_number(library, "gHotSpotVMTypeEntryTypeNameOffset", &class_at) ||
	    !read_number(library, "gHotSpotVMTypeEntrySizeOffset", &size_at) || entry == 0 ||
	    stride == 0)
		return 0;
	for (; *text_at(entry, class_at) != '\0'; entry += stride)
		if (strcmp(text_at(entry, class_at), class) == 0)
			return number_at(entry, size_at);
	return 0;
}

/* The value of an option of the VM that is a text; "": not known. */
static const char *option_of(void *library, const char *option)
{
	const void *flags_at = static_member(library, "JVMFlag", "flags");
	const void *count_at = static_member(library, "JVMFlag", "numFlags");
	uint64_t bytes = class_bytes(library, "JVMFlag"), count;
	struct member name, address;
	uintptr_t flag;

	if (flags_at == NULL || count_at == NULL || bytes == 0 ||
	    !find_member(library, "JVMFlag", "_name", &name) ||
	    !find_member(library, "JVMFlag", "_addr", &address))
		return "";
	flag = number_at((uintptr_t)flags_at, 0);
	count = number_at((uintptr_t)count_at, 0);
	/* The last one is empty. */
	for (; flag != 0 && count > 1; count--, flag += bytes)
		if (strcmp(text_at(flag, name.offset), option) == 0)
			return text_at(number_at(flag, address.offset), 0);
	return "";
}

/* The data of a counter of the VM, so many bytes or more; NULL: the VM has no such counter. */
static const void *counter(const char *memory, const char *name, int32_t bytes)
{
	struct perf_head head;
	int64_t at;

	memcpy(&head, memory, sizeof(head));
	if (memcmp(head.magic, "\xca\xfe\xc0\xc0", 4) != 0 || head.major != 2)
		return NULL;
	at = head.entry_offset;
	for (int32_t i = 0; i < head.entry_count; i++) {
		struct perf_entry entry;

		if (at < 0 || at + (int64_t)sizeof(entry) > head.used_bytes)
			return NULL;
		memcpy(&entry, memory + at, sizeof(entry));
		if (entry.bytes <= 0 || entry.name_offset < 0 || entry.data_offset < 0 ||
		    at + entry.bytes > head.used_bytes || entry.name_offset >= entry.bytes)
			return NULL;
		if (strncmp(memory + at + entry.name_offset, name,
		            (size_t)(entry.bytes - entry.name_offset)) == 0)
			return entry.data_offset <= entry.bytes - bytes
			               ? memory + at + entry.data_offset
			               : NULL;
		at += entry.bytes;
	}
	return NULL;
}

/* The count of the collector's collections if its name has these words. */
static const int64_t *find_count(const char *memory, int collector, const char *words)
{
	char name[64];
	const char *kind;

	snprintf(name, sizeof(name), "sun.gc.collector.%d.name", collector);
	kind = counter(memory, name, 1);
	if (kind == NULL || strstr(kind, words) == NULL)
		return NULL;
	snprintf(name, sizeof(name), "sun.gc.collector.%d.invocations", collector);
	return counter(memory, name, sizeof(*full_count));
}

static void find_counts(const char *memory)
{
	full_count = NULL;
	for (int i = 0; i < COLLECTORS; i++) {
		const int64_t *full = find_count(memory, i, "full collection pauses");
		const int64_t *young = find_count(memory, i, "young collection pauses");

		if (full_count == NULL)
			full_count = full;
		buffer_counts[i] = full != NULL ? full : young;
	}
}

void gg_jvm_collections_note_buffers(void)
{
	for (int i = 0; i < COLLECTORS; i++)
		if (buffer_counts[i] != NULL)
			counts_before[i] = __atomic_load_n(buffer_counts[i], __ATOMIC_RELAXED);
}

bool gg_jvm_collections_took_buffers(void)
{
	for (int i = 0; i < COLLECTORS; i++)
		if (buffer_counts[i] != NULL &&
		    __atomic_load_n(buffer_counts[i], __ATOMIC_RELAXED) != counts_before[i])
			return true;
	return false;
}

/* Whether the collector is one of which each death is a proof (collections.h). */
static bool find_proof(void *library, const char *memory)
{
	for (int i = 0; i < COLLECTORS; i++) {
		char name[64];
		const char *kind, *mode;

		snprintf(name, sizeof(name), "sun.gc.collector.%d.name", i);
		kind = counter(memory, name, 1);
		if (kind == NULL)
			continue;
		if (strcmp(kind, "Z concurrent cycle pauses") == 0 ||
		    strcmp(kind, "ZGC major collection pauses") == 0)
			return true;
		if (strncmp(kind, "Shenandoah", 10) != 0)
			continue;
		mode = option_of(library, "ShenandoahGCMode");
		return *mode != '\0' && strcmp(mode, "generational") != 0;
	}
	return false;
}

static uint64_t count_now(void)
{
	return (uint64_t)__atomic_load_n(full_count, __ATOMIC_RELAXED);
}

void gg_jvm_collections_find(void)
{
	void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
	const void *member;
	const char *memory = NULL;

	if (start_ns == 0)
		start_ns = gg_clock_monotonic_ns();
	if (library == NULL)
		return;
	member = static_member(library, "PerfMemory", "_start");
	if (member != NULL)
		memcpy(&memory, member, sizeof(memory));
	if (memory != NULL)
		find_counts(memory);
	deaths_prove = memory != NULL && find_proof(library, memory);
	if (full_count != NULL)
		gg_store_relaxed(&last_count, count_now());
	dlclose(library); /* the VM stays loaded */
}

/* --- collections --- */

/*
 * The VM counts a collection before it reports the end or after that, so this look comes at the
 * end, at the next begin, and at samples and deaths between them.
 */
static void look(void)
{
	uint64_t now, before = gg_load_relaxed(&last_count);

	if (full_count == NULL)
		return;
	now = count_now();
	if (gg_likely(now == before) || !gg_cas_acq_rel(&last_count, &before, now))
		return;
	gg_store_relaxed(&waiting_from, gg_clock_monotonic_ns());
	gg_store_relaxed(&waiting_ns, gg_load_relaxed(&began_ns));
}

void gg_jvm_collection_began(void)
{
	look();
	gg_store_relaxed(&began_ns, gg_clock_monotonic_ns());
}

void gg_jvm_collection_ended(void)
{
	look();
}

void gg_jvm_collections_settle(bool is_death)
{
	look();
	if (gg_likely(gg_load_relaxed(&waiting_ns) == 0))
		return;
	if (is_death ||
	    gg_clock_monotonic_ns() - gg_load_relaxed(&waiting_from) > (uint64_t)SETTLED_NS)
		gg_jvm_collections_settled();
}

static void tell(uint64_t begin_ns)
{
	if (gg_embed_agent()->bytes > offsetof(struct gg_agent_functions, collected))
		gg_embed_agent()->collected(begin_ns);
}

void gg_jvm_collections_settled(void)
{
	uint64_t begin_ns;

	look();
	begin_ns = gg_exchange_acq_rel(&waiting_ns, 0);
	if (begin_ns != 0)
		tell(begin_ns);
}

uint64_t gg_jvm_collections_ms(uint64_t monotonic_ns)
{
	return (monotonic_ns - start_ns) / 1000000;
}

void gg_jvm_collections_died(uint64_t born_ms)
{
	uint64_t before = gg_load_relaxed(&proven_ms);

	if (!deaths_prove)
		return;
	while (born_ms > before)
		if (gg_cas_acq_rel(&proven_ms, &before, born_ms)) {
			tell(start_ns + born_ms * 1000000);
			return;
		}
}
