/* SPDX-License-Identifier: Apache-2.0 */
/* known_symbols - keeps the results of look-ups, and finds addresses in them. */
#include "record/symbols/known_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/binary_search.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/time_units.h"

enum { KNOWN_BYTES_MAX = 16 << 20, KNOWN_MODULES_MAX = 1 << 14, KNOWN_SECONDS = 3600 };

/* An address, and where its answer is. */
struct known_place {
	uint64_t address;
	uint32_t look_up, asked, index; /* asked: number of the module in that look-up */
};

struct known_module {
	char *path;
	uint8_t *build_id;
	size_t build_id_bytes;
	GG_ARRAY(struct known_place) places;     /* by address */
	const struct gg_symbol_outcome *outcome; /* NULL: not looked up yet */
	bool has_passing;                        /* some of its answers are for one look-up alone */
};

struct look_up {
	struct gg_symbols *symbols; /* NULL: nobody needs them */
	size_t place_count;         /* of all modules, here */
};

struct gg_known_symbols {
	struct gg_map map; /* numbers of modules, by path and build-id */
	GG_ARRAY(struct known_module) modules;
	GG_ARRAY(struct look_up) look_ups;
	size_t bytes; /* of look-ups and places */
	uint64_t start_ns;
};

static void forget(struct gg_known_symbols *known)
{
	for (size_t i = 0; i < known->modules.count; i++) {
		free(known->modules.items[i].path);
		free(known->modules.items[i].build_id);
		gg_array_done(&known->modules.items[i].places);
	}
	for (size_t i = 0; i < known->look_ups.count; i++)
		gg_symbols_free(known->look_ups.items[i].symbols);
	gg_map_done(&known->map);
	gg_array_done(&known->modules);
	gg_array_done(&known->look_ups);
	*known = (struct gg_known_symbols){ .start_ns = gg_clock_monotonic_ns() };
}

int gg_known_symbols_new(struct gg_known_symbols **ret_known, struct gg_error *error)
{
	*ret_known = calloc(1, sizeof(**ret_known));
	if (*ret_known == NULL)
		return gg_error_memory(error, "names");
	forget(*ret_known);
	return 0;
}

void gg_known_symbols_free(struct gg_known_symbols *known)
{
	if (known == NULL)
		return;
	forget(known);
	free(known);
}

static const struct gg_symbol_outcome *outcome_of(const struct gg_known_symbols *known,
                                                  const struct known_place *place)
{
	return gg_symbols_outcome(known->look_ups.items[place->look_up].symbols, place->asked);
}

/* True for an outcome that may have been for want of time. */
static bool is_passing(const struct gg_symbol_outcome *outcome)
{
	return outcome->status == GG_SYMBOL_UNREADABLE || outcome->is_second_try;
}

/* Lets a place go, and its look-up with the last one. */
static void forget_place(struct gg_known_symbols *known, const struct known_place *place)
{
	struct look_up *look_up = &known->look_ups.items[place->look_up];

	known->bytes -= sizeof(*place);
	if (--look_up->place_count > 0)
		return;
	known->bytes -= gg_symbols_bytes(look_up->symbols);
	gg_symbols_free(look_up->symbols);
	look_up->symbols = NULL;
}

/* Forgets a module's answers that are for one look-up alone. */
static void forget_passing(struct gg_known_symbols *known, struct known_module *module)
{
	size_t count = 0;

	module->outcome = NULL;
	module->has_passing = false;
	for (size_t i = 0; i < module->places.count; i++) {
		struct known_place place = module->places.items[i];
		const struct gg_symbol_outcome *outcome = outcome_of(known, &place);

		if (is_passing(outcome)) {
			forget_place(known, &place);
			continue;
		}
		if (module->outcome == NULL || outcome->status < module->outcome->status)
			module->outcome = outcome;
		module->places.items[count++] = place;
	}
	module->places.count = count;
}

void gg_known_symbols_begin(struct gg_known_symbols *known)
{
	if (known->bytes > KNOWN_BYTES_MAX || known->modules.count > KNOWN_MODULES_MAX ||
	    gg_clock_monotonic_ns() - known->start_ns > KNOWN_SECONDS * GG_NS_PER_S) {
		forget(known);
		return;
	}
	for (size_t i = 0; i < known->modules.count; i++)
		if (known->modules.items[i].has_passing)
			forget_passing(known, &known->modules.items[i]);
	while (known->look_ups.count > 0 &&
	       known->look_ups.items[known->look_ups.count - 1].symbols == NULL)
		known->look_ups.count--;
}

size_t gg_known_symbols_bytes(const struct gg_known_symbols *known)
{
	return known->bytes;
}

struct wanted_module {
	const struct gg_known_symbols *known;
	const struct gg_symbol_module *module;
};

static bool is_module(uint64_t number, const void *context)
{
	const struct wanted_module *wanted = context;
	const struct known_module *known = &wanted->known->modules.items[number];

	return strcmp(known->path, wanted->module->path) == 0 &&
	       known->build_id_bytes == wanted->module->build_id_bytes &&
	       memcmp(known->build_id, wanted->module->build_id, known->build_id_bytes) == 0;
}

uint32_t gg_known_symbols_module(struct gg_known_symbols *known,
                                 const struct gg_symbol_module *module)
{
	struct wanted_module wanted = { known, module };
	uint64_t hash = gg_hash_bytes(module->build_id, module->build_id_bytes,
	                              gg_map_seed(&known->map));
	uint64_t number = gg_map_find(&known->map, hash, is_module, &wanted);
	struct known_module added = { .build_id_bytes = module->build_id_bytes };

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	number = known->modules.count;
	added.path = strdup(module->path);
	added.build_id = malloc(module->build_id_bytes);
	if (added.path == NULL || added.build_id == NULL ||
	    !gg_array_reserve(&known->modules, number + 1) ||
	    gg_map_insert(&known->map, hash, number) < 0) {
		free(added.path);
		free(added.build_id);
		return UINT32_MAX;
	}
	memcpy(added.build_id, module->build_id, module->build_id_bytes);
	known->modules.items[known->modules.count++] = added;
	return (uint32_t)number;
}

static const struct known_place *find(const struct gg_known_symbols *known, uint32_t module,
                                      uint64_t address)
{
	const struct known_module *in = &known->modules.items[module];
	size_t at = gg_lower_bound(0, in->places.count, index,
	                           in->places.items[index].address < address);

	return at < in->places.count && in->places.items[at].address == address
	               ? &in->places.items[at]
	               : NULL;
}

bool gg_known_symbols_has(const struct gg_known_symbols *known, uint32_t module, uint64_t address)
{
	return find(known, module, address) != NULL;
}

static int compare_places(const void *a, const void *b)
{
	const struct known_place *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* An address that was given twice may be there twice, with the same answer. */
static void keep_module(struct gg_known_symbols *known, struct known_module *module,
                        const struct gg_symbol_module *asked, uint32_t number)
{
	uint32_t look_up = (uint32_t)known->look_ups.count;
	const struct gg_symbol_outcome *outcome = gg_symbols_outcome(
		known->look_ups.items[look_up - 1].symbols, number);

	for (uint32_t i = 0; i < asked->address_count; i++)
		module->places.items[module->places.count++] = (struct known_place){
			asked->addresses[i], look_up - 1, number, i
		};
	known->bytes += asked->address_count * sizeof(struct known_place);
	known->look_ups.items[look_up - 1].place_count += asked->address_count;
	module->has_passing |= is_passing(outcome);
	if (module->places.count > 1)
		qsort(module->places.items, module->places.count, sizeof(*module->places.items),
		      compare_places);
	/* The outcome of a file that could not be read is the last word until the next look-up. */
	if (module->outcome == NULL || outcome->status == GG_SYMBOL_UNREADABLE ||
	    (module->outcome->status != GG_SYMBOL_UNREADABLE &&
	     outcome->status < module->outcome->status))
		module->outcome = outcome;
}

int gg_known_symbols_keep(struct gg_known_symbols *known, struct gg_symbols *symbols,
                          const struct gg_symbol_module *asked, const uint32_t *numbers,
                          size_t count)
{
	if (!gg_array_reserve(&known->look_ups, known->look_ups.count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct known_module *module = &known->modules.items[numbers[i]];

		if (!gg_array_reserve(&module->places,
		                      module->places.count + asked[i].address_count))
			return -ENOMEM;
	}
	known->look_ups.items[known->look_ups.count++] = (struct look_up){ .symbols = symbols };
	known->bytes += gg_symbols_bytes(symbols);
	for (size_t i = 0; i < count; i++)
		keep_module(known, &known->modules.items[numbers[i]], &asked[i], (uint32_t)i);
	return 0;
}

size_t gg_known_symbols_frames(const struct gg_known_symbols *known, uint32_t module,
                               uint64_t address, const struct gg_symbol_frame **ret_frames)
{
	const struct known_place *place = find(known, module, address);

	return place == NULL ? 0
	                     : gg_symbols_frames(known->look_ups.items[place->look_up].symbols,
	                                         place->asked, place->index, ret_frames);
}

const struct gg_symbol_outcome *gg_known_symbols_outcome(const struct gg_known_symbols *known,
                                                         uint32_t module)
{
	return known->modules.items[module].outcome;
}
