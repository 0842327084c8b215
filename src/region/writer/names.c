/* SPDX-License-Identifier: Apache-2.0 */
/* names - adds threads, modules, heaps and types, to which samples refer.  Cold: once for each. */
#include <string.h>

#include "base/assert.h"
#include "region/writer/private_live_table.h"
#include "region/writer/site_totals.h"
#include "region/writer/space.h"

enum { SLOT_TRIES = 64 /* rounds to find a slot of the redo log */ };

/* Copies a text into the strings.  False: they are full.  The empty text needs no room. */
static bool add_string(struct gg_region *region, const char *text, size_t bytes,
                       uint32_t *ret_offset)
{
	uint32_t offset;

	if (bytes == 0) {
		*ret_offset = 0;
		return true;
	}
	if (bytes > UINT16_MAX)
		return false;
	offset = gg_region_space_take_run(region, GG_TABLE_STRINGS, (uint32_t)bytes);
	if (offset == GG_INDEX_NONE)
		return false;
	memcpy(gg_region_at(region, GG_TABLE_STRINGS, offset), text, bytes);
	*ret_offset = offset;
	return true;
}

uint32_t gg_region_add_name(struct gg_region *region, enum gg_region_table_id table,
                            const char *name, size_t bytes)
{
	uint32_t used = gg_load_acquire(&region->tables[table].used_count), offset, id;

	if (bytes == 0)
		return 0;
	for (id = 1; id < used; id++) {
		const struct gg_region_name *entry = gg_region_at(region, table, id);
		/*
		 * Acquire: pairs with the release below.  The lengths come from the file, so this
		 * function checks them.
		 */
		bool is_ready = gg_load_acquire(&entry->ready) == 1;
		/* Relaxed: the text of a ready entry was taken before the entry. */
		uint32_t end = gg_load_relaxed(&region->tables[GG_TABLE_STRINGS].used_count);

		if (is_ready && entry->bytes == bytes && entry->offset <= end &&
		    bytes <= end - entry->offset &&
		    memcmp(gg_region_at(region, GG_TABLE_STRINGS, entry->offset), name, bytes) == 0)
			return id;
	}
	id = GG_INDEX_NONE;
	if (add_string(region, name, bytes, &offset))
		id = gg_region_space_take(region, table);
	if (id == GG_INDEX_NONE) {
		gg_region_count(region, GG_COUNT_DROP_NAMES, 1);
		return 0;
	}
	struct gg_region_name *entry = gg_region_at(region, table, id);

	entry->offset = offset;
	entry->bytes = (uint32_t)bytes;
	gg_store_release(&entry->ready, 1);
	return id;
}

/* Finds the same path of an earlier module, because plugins are loaded again and again. */
static bool find_path(struct gg_region *region, const struct gg_module_info *info,
                      uint32_t *ret_offset)
{
	uint32_t used = gg_load_acquire(&region->tables[GG_TABLE_MODULES].used_count);

	for (uint32_t i = used; i > 0; i--) {
		const struct gg_region_module *module = gg_region_at(region, GG_TABLE_MODULES,
		                                                     i - 1);
		/* Acquire: pairs with the release in gg_region_add_module().  The offset comes from
		 * the file, so it is checked. */
		bool is_ready = gg_load_acquire(&module->ready) == 1;
		uint32_t end = gg_load_relaxed(&region->tables[GG_TABLE_STRINGS].used_count);

		if (is_ready && module->path_bytes == info->path_bytes &&
		    module->path_offset <= end && info->path_bytes <= end - module->path_offset &&
		    memcmp(gg_region_at(region, GG_TABLE_STRINGS, module->path_offset), info->path,
		           info->path_bytes) == 0) {
			*ret_offset = module->path_offset;
			return true;
		}
	}
	return false;
}

uint32_t gg_region_add_module(struct gg_region *region, const struct gg_module_info *info)
{
	struct gg_region_module module = {
		.load_ns = info->load_ns,
		.bias = info->bias,
		.generation = info->generation,
		.path_bytes = (uint32_t)info->path_bytes,
	};
	uint32_t index = GG_INDEX_NONE;
	struct gg_region_module *record;

	if (find_path(region, info, &module.path_offset) ||
	    add_string(region, info->path, info->path_bytes, &module.path_offset))
		index = gg_region_space_take(region, GG_TABLE_MODULES);
	if (index == GG_INDEX_NONE) {
		gg_region_count(region, GG_COUNT_DROP_MODULES, 1);
		return index;
	}
	module.range_count = (uint16_t)(info->range_count < GG_REGION_RANGES_MAX
	                                        ? info->range_count
	                                        : GG_REGION_RANGES_MAX);
	for (uint32_t i = 0; i < module.range_count; i++)
		module.ranges[i] = info->ranges[i];
	module.build_id_bytes = (uint16_t)(info->build_id_bytes < GG_REGION_BUILD_ID_MAX
	                                           ? info->build_id_bytes
	                                           : GG_REGION_BUILD_ID_MAX);
	if (module.build_id_bytes > 0)
		memcpy(module.build_id, info->build_id, module.build_id_bytes);
	record = gg_region_at(region, GG_TABLE_MODULES, index);
	memcpy((uint8_t *)record + sizeof(record->ready), (uint8_t *)&module + sizeof(module.ready),
	       sizeof(module) - sizeof(module.ready));
	gg_store_release(&record->ready, 1);
	return index;
}

void gg_region_unload_module(struct gg_region *region, uint32_t module, uint64_t now_ns)
{
	if (module >= gg_load_relaxed(&region->tables[GG_TABLE_MODULES].used_count))
		return;
	gg_store_release(
		&((struct gg_region_module *)gg_region_at(region, GG_TABLE_MODULES, module))
			 ->unload_ns,
		now_ns);
}

static bool claim_slot(struct gg_region *region, uint32_t slot)
{
	uint32_t expected = 0;

	/* Acquire: pairs with the release of the thread that gave it back. */
	return gg_load_relaxed(&region->slot_owners[slot]) == 0 &&
	       gg_cas_acq_rel(&region->slot_owners[slot], &expected, 1);
}

/* Takes a slot that a thread gave back, or a new one.  GG_INDEX_NONE: the redo log is full. */
static uint32_t take_slot(struct gg_region *region)
{
	/* A round fails if another thread finds the new slot in its search before this thread
	 * claims it. */
	for (int tries = 0; tries < SLOT_TRIES; tries++) {
		uint32_t used = gg_load_acquire(&region->tables[GG_TABLE_SLOTS].used_count), slot;

		for (slot = 0; slot < used; slot++)
			if (claim_slot(region, slot)) {
				gg_region_space_show(region, GG_TABLE_SLOTS, slot);
				return slot;
			}
		slot = gg_region_space_take(region, GG_TABLE_SLOTS);
		if (slot == GG_INDEX_NONE || claim_slot(region, slot))
			return slot;
	}
	return GG_INDEX_NONE;
}

static void set_name(struct gg_region_thread_record *record, const char *name)
{
	union {
		char text[sizeof(record->name)];
		uint64_t words[sizeof(record->name) / sizeof(uint64_t)];
	} copy = { .words = { 0 } };

	if (name != NULL)
		memcpy(copy.text, name, strnlen(name, sizeof(copy.text)));
	for (size_t i = 0; i < GG_COUNT(copy.words); i++)
		gg_store_relaxed((uint64_t *)(void *)record->name + i, copy.words[i]);
}

void gg_region_thread_resume(struct gg_region *region, struct gg_region_thread *thread, uint16_t id)
{
	uint32_t slot = gg_region_open(region) ? take_slot(region) : GG_INDEX_NONE;

	memset(thread, 0, sizeof(*thread));
	thread->begun = 1;
	thread->thread = id;
	if (slot != GG_INDEX_NONE) {
		const struct gg_region_redo_slot *record = gg_region_at(region, GG_TABLE_SLOTS,
		                                                        slot);

		gg_assert(gg_load_relaxed(&region->slot_owners[slot]) == 1);
		thread->slot_plus_1 = slot + 1;
		/* The count of operations continues, so a reader notices changes by any owner. */
		thread->operations = gg_load_relaxed(&record->state) & ~(uint64_t)GG_REDO_MASK;
	}
}

void gg_region_thread_begin(struct gg_region *region, struct gg_region_thread *thread, uint32_t tid,
                            const char *name, uint64_t now_ns)
{
	uint32_t id = gg_region_space_take(region, GG_TABLE_THREADS);

	gg_region_thread_resume(region, thread, 0);
	if (id == GG_INDEX_NONE) {
		gg_region_count(region, GG_COUNT_DROP_THREADS, 1);
		return;
	}
	struct gg_region_thread_record *record = gg_region_at(region, GG_TABLE_THREADS, id);

	thread->thread = (uint16_t)id;
	record->start_ns = now_ns;
	record->tid = tid;
	set_name(record, name);
	gg_store_release(&record->ready, 1);
}

void gg_region_thread_rename(struct gg_region *region, struct gg_region_thread *thread,
                             const char *name)
{
	if (thread->thread != 0)
		set_name(gg_region_at(region, GG_TABLE_THREADS, thread->thread), name);
}

void gg_region_thread_end(struct gg_region *region, struct gg_region_thread *thread,
                          uint64_t now_ns)
{
	gg_assert(!thread->busy);
	if (thread->thread != 0) {
		struct gg_region_thread_record *record = gg_region_at(region, GG_TABLE_THREADS,
		                                                      thread->thread);

		gg_store_release(&record->end_ns, now_ns);
	}
	if (thread->spare_plus_1 != 0)
		gg_region_live_give_shared(region, thread->spare_plus_1 - 1);
	/* Release: the next owner sees everything that this one stored in the slot. */
	if (thread->slot_plus_1 != 0)
		gg_store_release(&region->slot_owners[thread->slot_plus_1 - 1], 0);
	memset(thread, 0, sizeof(*thread));
}
