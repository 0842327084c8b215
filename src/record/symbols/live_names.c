/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_names - names the frames of a profile that is still recorded.
 *
 * The ids of frames and modules belong to one profile; places belong to this module and outlive it.
 * read_profile() translates the one into the other.  Modules, places and texts are unique: each has
 * a map from a hash to its number, and the hash has a seed of its own, because a profile may be
 * hostile.
 */
#include "record/symbols/live_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/time_units.h"
#include "record/symbols/symbolize.h"

enum {
	PLACES_MAX = 1 << 20,
	LIMIT_SECONDS = 10, /* for the symbols of one module */
	REST_TIMES = 10,    /* the pause after a look-up, as a multiple of its time */
};

/* After that time, code of a JIT compiler without a name is looked up again. */
#define ASK_AGAIN_NS (10 * GG_NS_PER_S)

/* A module of any profile. */
struct live_module {
	char *path;
	uint8_t *build_id;
	size_t build_id_bytes;
	bool is_perf_map;
};

/* An address of a module, with its lines once it was looked up. */
struct place {
	uint32_t module;
	uint64_t address;
	uint32_t first_line, line_count;
	uint64_t asked_ns; /* CLOCK_MONOTONIC; 0: not yet */
};

/* A frame without a name in the profile that was read last. */
struct unnamed {
	uint32_t frame, place;
};

struct gg_live_names {
	struct gg_map module_map, place_map, text_map;
	GG_ARRAY(struct live_module) modules;
	GG_ARRAY(struct place) places;
	GG_ARRAY(struct gg_profile_line) lines; /* `texts` owns their texts */
	GG_ARRAY(char *) texts;
	GG_ARRAY(struct unnamed) unnamed;
	uint64_t rest_until_ns; /* CLOCK_MONOTONIC */
};

/* State while a profile is read. */
struct learning {
	struct gg_live_names *names;
	GG_ARRAY(uint32_t) module_of; /* by the profile's module id: index + 1; 0: unknown */
	GG_ARRAY(uint8_t) is_named;   /* by the profile's frame id */
	struct gg_error *error;
};

/* A profile of geiger has no larger ids.  A forged id would make the arrays above very large. */
enum { NAMED_ID_LIMIT = 1 << 27 };
/* --- modules, places and texts ------------------------------------------------------------- */

/* Forgets everything but the end of the pause, which protects the processor. */
static void forget(struct gg_live_names *names)
{
	for (size_t i = 0; i < names->modules.count; i++) {
		free(names->modules.items[i].path);
		free(names->modules.items[i].build_id);
	}
	for (size_t i = 0; i < names->texts.count; i++)
		free(names->texts.items[i]);
	gg_map_done(&names->module_map);
	gg_map_done(&names->place_map);
	gg_map_done(&names->text_map);
	gg_array_done(&names->modules);
	gg_array_done(&names->places);
	gg_array_done(&names->lines);
	gg_array_done(&names->texts);
	gg_array_done(&names->unnamed);
	*names = (struct gg_live_names){ .rest_until_ns = names->rest_until_ns };
}

int gg_live_names_new(struct gg_live_names **ret_names, struct gg_error *error)
{
	*ret_names = calloc(1, sizeof(**ret_names));
	return *ret_names == NULL ? gg_error_memory(error, "names") : 0;
}

void gg_live_names_free(struct gg_live_names *names)
{
	if (names == NULL)
		return;
	forget(names);
	free(names);
}

struct wanted {
	const struct gg_live_names *names;
	const void *what;
};

static bool is_text(uint64_t number, const void *context)
{
	const struct wanted *wanted = context;

	return strcmp(wanted->names->texts.items[number], wanted->what) == 0;
}

/* Returns the module's own copy of the text.  NULL for NULL, or without memory. */
static const char *keep_text(struct gg_live_names *names, const char *text)
{
	struct wanted wanted = { names, text };
	uint64_t hash, found;
	char *copy;

	if (text == NULL)
		return NULL;
	hash = gg_hash_bytes(text, strlen(text), gg_map_seed(&names->text_map));
	found = gg_map_find(&names->text_map, hash, is_text, &wanted);
	if (found != GG_MAP_NONE)
		return names->texts.items[found];
	/* The array gets its space first: after a failure neither it nor the map has changed. */
	copy = strdup(text);
	if (copy == NULL || !gg_array_reserve(&names->texts, names->texts.count + 1) ||
	    gg_map_insert(&names->text_map, hash, names->texts.count) < 0) {
		free(copy);
		return NULL;
	}
	names->texts.items[names->texts.count++] = copy;
	return copy;
}

static bool is_module(uint64_t number, const void *context)
{
	const struct wanted *wanted = context;
	const struct live_module *module = &wanted->names->modules.items[number];
	const struct gg_profile_module *other = wanted->what;

	return strcmp(module->path, other->path) == 0 &&
	       module->build_id_bytes == other->build_id_bytes &&
	       (module->build_id_bytes == 0 ||
	        memcmp(module->build_id, other->build_id, module->build_id_bytes) == 0);
}

/* Returns the module's index + 1; 0 without memory. */
static uint32_t keep_module(struct gg_live_names *names, const struct gg_profile_module *other)
{
	struct wanted wanted = { names, other };
	uint64_t hash = gg_hash_bytes(other->path, strlen(other->path),
	                              gg_map_seed(&names->module_map));
	uint64_t found = gg_map_find(&names->module_map, hash, is_module, &wanted);
	struct live_module *module;

	if (found != GG_MAP_NONE)
		return (uint32_t)found + 1;
	if (!gg_array_reserve(&names->modules, names->modules.count + 1))
		return 0;
	module = &names->modules.items[names->modules.count];
	*module = (struct live_module){ .path = strdup(other->path),
		                        .is_perf_map = gg_symbolize_is_perf_map(other->path) };
	if (other->build_id_bytes > 0)
		module->build_id = malloc(other->build_id_bytes);
	if (module->path == NULL || (other->build_id_bytes > 0 && module->build_id == NULL) ||
	    gg_map_insert(&names->module_map, hash, names->modules.count) < 0) {
		free(module->path);
		free(module->build_id);
		return 0;
	}
	if (other->build_id_bytes > 0)
		memcpy(module->build_id, other->build_id, other->build_id_bytes);
	module->build_id_bytes = other->build_id_bytes;
	return (uint32_t)++names->modules.count;
}

static bool is_place(uint64_t number, const void *context)
{
	const struct wanted *wanted = context;
	const struct place *place = &wanted->names->places.items[number], *other = wanted->what;

	return place->module == other->module && place->address == other->address;
}

/* Returns the place's index; UINT32_MAX without memory. */
static uint32_t keep_place(struct gg_live_names *names, uint32_t module, uint64_t address)
{
	const struct place place = { .module = module, .address = address };
	struct wanted wanted = { names, &place };
	const uint64_t key[] = { module, address };
	uint64_t hash = gg_hash_bytes(key, sizeof(key), gg_map_seed(&names->place_map));
	uint64_t found = gg_map_find(&names->place_map, hash, is_place, &wanted);

	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	if (!gg_array_reserve(&names->places, names->places.count + 1) ||
	    gg_map_insert(&names->place_map, hash, names->places.count) < 0)
		return UINT32_MAX;
	names->places.items[names->places.count] = place;
	return (uint32_t)names->places.count++;
}

/* --- reading the profile ------------------------------------------------------------------- */

static int take_module(const struct gg_profile_module *module, void *context)
{
	struct learning *learning = context;

	if (module->id == 0 || module->path == NULL)
		return 0;
	if (module->id >= NAMED_ID_LIMIT ||
	    !gg_array_extend(&learning->module_of, (size_t)module->id + 1))
		return gg_error_memory(learning->error, "names");
	learning->module_of.items[module->id] = keep_module(learning->names, module);
	return 0;
}

static int take_line(const struct gg_profile_line *line, void *context)
{
	struct learning *learning = context;

	if (line->function == NULL || line->function[0] == '\0')
		return 0;
	if (line->frame >= NAMED_ID_LIMIT ||
	    !gg_array_extend(&learning->is_named, (size_t)line->frame + 1))
		return gg_error_memory(learning->error, "names");
	learning->is_named.items[line->frame] = 1;
	return 0;
}

static int take_frame(const struct gg_profile_frame *frame, void *context)
{
	struct learning *learning = context;
	struct gg_live_names *names = learning->names;
	uint32_t module = frame->module < learning->module_of.count
	                          ? learning->module_of.items[frame->module]
	                          : 0;
	uint32_t place;

	if (module == 0 ||
	    (frame->id < learning->is_named.count && learning->is_named.items[frame->id]))
		return 0;
	place = keep_place(names, module - 1, frame->address);
	if (place == UINT32_MAX ||
	    !gg_array_push(&names->unnamed, (struct unnamed){ frame->id, place }))
		return gg_error_memory(learning->error, "names");
	return 0;
}

/*
 * Lists the unnamed frames of the profile.  The order matters: frames need the modules' numbers,
 * and need to know which frames have lines.
 */
static int read_profile(struct gg_live_names *names, struct gg_profile *profile,
                        struct gg_error *error)
{
	struct learning learning = { .names = names, .error = error };
	int status;

	names->unnamed.count = 0;
	status = gg_profile_each_module(profile, take_module, &learning, error);
	if (status == 0)
		status = gg_profile_each_line(profile, take_line, &learning, error);
	if (status == 0)
		status = gg_profile_each_frame(profile, take_frame, &learning, error);
	gg_array_done(&learning.module_of);
	gg_array_done(&learning.is_named);
	return status;
}

/* --- looking up ---------------------------------------------------------------------------- */

/* True if the place was not looked up yet, or if a JIT compiler may have named it since. */
static bool is_wanted(const struct gg_live_names *names, const struct place *place, uint64_t now_ns)
{
	if (place->asked_ns == 0)
		return true;
	return place->line_count == 0 && names->modules.items[place->module].is_perf_map &&
	       now_ns - place->asked_ns > ASK_AGAIN_NS;
}

static bool has_wanted(const struct gg_live_names *names, uint64_t now_ns)
{
	for (size_t i = 0; i < names->unnamed.count; i++)
		if (is_wanted(names, &names->places.items[names->unnamed.items[i].place], now_ns))
			return true;
	return false;
}

static int compare_unnamed(const void *a, const void *b, void *context)
{
	const struct place *places = context;
	uint32_t left = ((const struct unnamed *)a)->place,
		 right = ((const struct unnamed *)b)->place;

	if (places[left].module != places[right].module)
		return places[left].module < places[right].module ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* Stores the lines that were found for a place.  Without memory it stores fewer. */
static void keep_lines(struct gg_live_names *names, struct place *place,
                       const struct gg_symbol_frame *frames, size_t count)
{
	place->first_line = (uint32_t)names->lines.count;
	place->line_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct gg_profile_line line = {
			.depth = (uint32_t)i,
			.function = keep_text(names, frames[i].function),
			.full_name = keep_text(names, frames[i].full_name),
			.linkage_name = keep_text(names, frames[i].linkage_name),
			.file = keep_text(names, frames[i].file),
			.line = frames[i].line,
			.inlined = frames[i].inlined,
		};

		if (!gg_array_push(&names->lines, line))
			return;
		place->line_count++;
	}
}

/*
 * The arguments of one look-up.  Each module points to its own range of `addresses`; places[i]
 * belongs to addresses[i].
 */
struct question {
	struct gg_symbol_module *modules;
	uint64_t *addresses;
	uint32_t *places;
	size_t module_count, count;
};

/*
 * Collects the places to look up.  Sorting by module makes the addresses of each module one range.
 * False: there is no memory.
 */
static bool ask_for(struct gg_live_names *names, uint64_t now_ns, struct question *question)
{
	uint32_t last = UINT32_MAX;

	question->modules = calloc(names->modules.count + 1, sizeof(*question->modules));
	question->addresses = calloc(names->unnamed.count + 1, sizeof(*question->addresses));
	question->places = calloc(names->unnamed.count + 1, sizeof(*question->places));
	if (question->modules == NULL || question->addresses == NULL || question->places == NULL)
		return false;
	if (names->unnamed.count > 0)
		qsort_r(names->unnamed.items, names->unnamed.count, sizeof(*names->unnamed.items),
		        compare_unnamed, names->places.items);
	for (size_t i = 0; i < names->unnamed.count; i++) {
		struct place *place = &names->places.items[names->unnamed.items[i].place];
		const struct live_module *module = &names->modules.items[place->module];

		if (!is_wanted(names, place, now_ns))
			continue;
		/* Two frames may have the same place, which is wanted once. */
		place->asked_ns = now_ns;
		if (place->module != last)
			question->modules[question->module_count++] = (struct gg_symbol_module){
				.path = module->path,
				.kind = module->is_perf_map ? GG_SYMBOL_PERF_MAP : GG_SYMBOL_FILE,
				.build_id = module->build_id,
				.build_id_bytes = module->build_id_bytes,
				.addresses = question->addresses + question->count,
			};
		last = place->module;
		question->modules[question->module_count - 1].address_count++;
		question->addresses[question->count] = place->address;
		question->places[question->count++] = names->unnamed.items[i].place;
	}
	return true;
}

static int look_up(struct gg_live_names *names, struct gg_error *error)
{
	const struct gg_symbol_options options = { .offline = true,
		                                   .limit_seconds = LIMIT_SECONDS };
	uint64_t now_ns = gg_clock_monotonic_ns();
	struct question question = { 0 };
	struct gg_symbols *symbols = NULL;
	size_t at = 0;
	int status;

	if (!has_wanted(names, now_ns))
		return 0;
	status = ask_for(names, now_ns, &question) ? 0 : gg_error_memory(error, "names");
	if (status == 0)
		status = gg_symbols_resolve(&symbols, question.modules, question.module_count,
		                            &options, error);
	for (size_t m = 0; status == 0 && m < question.module_count; m++)
		for (size_t i = 0; i < question.modules[m].address_count; i++) {
			const struct gg_symbol_frame *frames;
			size_t count = gg_symbols_frames(symbols, m, i, &frames);

			keep_lines(names, &names->places.items[question.places[at++]], frames,
			           count);
		}
	gg_symbols_free(symbols);
	free(question.modules);
	free(question.addresses);
	free(question.places);
	/* A failed look-up is followed by a pause as well, so that it cannot take all the time. */
	names->rest_until_ns = gg_clock_monotonic_ns();
	names->rest_until_ns += REST_TIMES * (names->rest_until_ns - now_ns);
	return status;
}

int gg_live_names_learn(struct gg_live_names *names, struct gg_profile *profile,
                        struct gg_error *error)
{
	int status;

	/* Places of profiles that nobody reads any more are never removed singly. */
	if (names->places.count >= PLACES_MAX)
		forget(names);
	status = read_profile(names, profile, error);
	if (status < 0 || gg_clock_monotonic_ns() < names->rest_until_ns)
		return status;
	return look_up(names, error);
}

int gg_live_names_tell(gg_line_visit *visit, void *visitor, void *context)
{
	const struct gg_live_names *names = context;
	int status = 0;

	for (size_t i = 0; i < names->unnamed.count; i++) {
		const struct place *place = &names->places.items[names->unnamed.items[i].place];

		for (uint32_t k = 0; k < place->line_count && status == 0; k++) {
			struct gg_profile_line line = names->lines.items[place->first_line + k];

			line.frame = names->unnamed.items[i].frame;
			status = visit(&line, visitor);
		}
	}
	return status;
}
