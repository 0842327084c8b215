/* SPDX-License-Identifier: Apache-2.0 */
/* address_space - assigns address ranges to modules. */
#include "format/export/address_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Modules without a range of their own start here; no kernel maps anything at these addresses. */
#define FREE_FROM UINT64_C(0x100000000000)
#define PAGE      UINT64_C(0x1000)

/* Records how a stack uses its module: the highest address, and which names and lines are known. */
static void note_stack(struct gg_address_space *space, const struct gg_model *model, uint32_t stack)
{
	const struct gg_model_frame *frame = gg_model_stack_frame(model, stack);
	struct gg_address_space_module *module = &space->modules[frame->module];
	size_t count;
	const struct gg_code_location *locations = gg_model_stack_locations(model, stack, &count);

	if (frame->address >= module->end)
		module->end = frame->address + 1;
	for (size_t i = 0; i < count; i++) {
		struct gg_model_line line = model->lines[locations[i].line];

		module->has_names |= model->functions[locations[i].function].is_named;
		module->has_files |= line.file != NULL;
		module->has_lines |= line.line != 0;
	}
	module->has_inlined |= count > 1;
}

static int note_stacks(struct gg_address_space *space, const struct gg_extract *extract)
{
	uint8_t *is_noted = calloc(extract->model->stack_count, 1);

	if (is_noted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < extract->row_count; i++) {
		uint32_t stack = extract->rows[i].stack;

		for (; stack != 0 && !is_noted[stack];
		     stack = extract->model->stacks[stack].parent) {
			is_noted[stack] = 1;
			note_stack(space, extract->model, stack);
		}
	}
	free(is_noted);
	return 0;
}

/* Returns the range over all segments that were mapped together with `first`. */
static struct gg_address_space_module instance_of(const struct gg_profile_mapping *mappings,
                                                  size_t count,
                                                  const struct gg_profile_mapping *first)
{
	struct gg_address_space_module instance = {
		.start = first->start,
		.end = first->end,
		.bias = first->bias,
		.file_offset = first->file_offset,
	};

	for (size_t i = 0; i < count; i++) {
		const struct gg_profile_mapping *mapping = &mappings[i];

		if (mapping->process != first->process || mapping->module != first->module ||
		    mapping->bias != first->bias)
			continue;
		if (mapping->start < instance.start) {
			instance.start = mapping->start;
			instance.file_offset = mapping->file_offset;
		}
		if (mapping->end > instance.end)
			instance.end = mapping->end;
	}
	return instance;
}

static bool is_free(const struct gg_address_space *space,
                    const struct gg_address_space_module *wanted)
{
	for (size_t i = 0; i < space->used_count; i++) {
		const struct gg_address_space_module *placed = &space->modules[space->order[i]];

		if (wanted->start < placed->end && placed->start < wanted->end)
			return false;
	}
	return true;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Assigns the module's original range if it is free, or else the one at *free_from. */
static void place(struct gg_address_space *space, uint32_t number,
                  struct gg_address_space_module where, uint64_t *free_from)
{
	struct gg_address_space_module *module = &space->modules[number];

	if (where.end <= where.start || !is_free(space, &where)) {
		uint64_t length = where.end > where.start ? where.end - where.start
		                                          : round_up(module->end);

		if (where.end <= where.start)
			where = (struct gg_address_space_module){ 0 };
		where.bias += *free_from - where.start;
		where.start = *free_from;
		where.end = *free_from + length;
		*free_from += round_up(length) + PAGE;
	}
	module->start = where.start;
	module->end = where.end;
	module->bias = where.bias;
	module->file_offset = where.file_offset;
	space->order[space->used_count++] = number;
}

static bool is_in(const struct gg_extract *extract, uint32_t process)
{
	const struct gg_profile_process *processes = extract->model->processes;

	return extract->query.pid == 0 || processes[process].pid == extract->query.pid;
}

/* Finds the program itself: the module whose path is the executable of the first row's process. */
static uint32_t find_main(const struct gg_extract *extract)
{
	const struct gg_profile_process *processes = extract->model->processes;
	const char *exe = extract->row_count > 0 ? processes[extract->rows[0].process].exe : NULL;

	for (uint32_t i = 1; exe != NULL && i < extract->model->module_count; i++)
		if (strcmp(extract->model->modules[i].path, exe) == 0)
			return i;
	return 0;
}

static void place_all(struct gg_address_space *space, const struct gg_extract *extract)
{
	const struct gg_profile_mapping *mappings = extract->model->mappings;
	uint32_t first = find_main(extract);
	uint64_t free_from = FREE_FROM;

	for (uint32_t i = 0; i < space->module_count; i++) {
		/*
		 * Module 0 means no module, so the program takes its turn first and is skipped
		 * later.
		 */
		uint32_t number = i == 0 ? first : i;
		struct gg_address_space_module where = { 0 };

		if (number == 0 || (i != 0 && number == first) || space->modules[number].end == 0)
			continue;
		for (size_t k = 0; k < extract->model->mapping_count; k++)
			if (mappings[k].module == number && is_in(extract, mappings[k].process)) {
				where = instance_of(mappings, extract->model->mapping_count,
				                    &mappings[k]);
				break;
			}
		place(space, number, where, &free_from);
	}
}

int gg_address_space_make(struct gg_address_space *ret_space, const struct gg_extract *extract,
                          struct gg_error *error)
{
	struct gg_address_space space = { .module_count = extract->model->module_count };

	space.modules = calloc(space.module_count, sizeof(*space.modules));
	space.order = calloc(space.module_count, sizeof(*space.order));
	if (space.modules == NULL || space.order == NULL || note_stacks(&space, extract) < 0) {
		gg_address_space_done(&space);
		return gg_error_memory(error, "export");
	}
	place_all(&space, extract);
	*ret_space = space;
	return 0;
}

void gg_address_space_done(struct gg_address_space *space)
{
	free(space->modules);
	free(space->order);
}
