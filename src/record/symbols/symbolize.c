/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize - gives the frames of a profile their functions and lines.
 *
 *   1. gather() reads modules, lines and frames, in this order, and lists the frames of all modules
 *      whose lines are not complete.
 *      Frames of jitdumps get the time at which samples had them.
 *   2. resolve() looks all of them up in one call, grouped by module.
 *   3. write_module() writes the lines that say more than the known ones.
 */
#include "record/symbols/symbolize.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_name.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/path.h"
#include "record/symbols/frame_times.h"
#include "record/symbols/known_symbols.h"

/* A module of the profile, with its frames if it is to be looked up. */
struct asked_module {
	char *path;
	uint8_t *build_id;
	size_t build_id_bytes;
	bool is_complete; /* its status in the profile says that all lines are known */
	GG_ARRAY(uint32_t) frames;
	GG_ARRAY(uint64_t) addresses;              /* of the frames */
	GG_ARRAY(struct gg_symbol_window) windows; /* of the frames of a jitdump, by address */
	GG_ARRAY(uint64_t) unknown;                /* of `addresses`, for a known module */
	uint32_t known;                            /* its number there; UINT32_MAX: none */
	size_t asked;                              /* its number in the look-up */
};

struct work {
	GG_ARRAY(struct asked_module) modules; /* by id; id 0 means that a frame has no module */
	GG_ARRAY(uint8_t) known;               /* by frame: KNOWN_NOTHING ... _LINE */
	struct gg_known_symbols *names;        /* of earlier look-ups; NULL: none */
	struct gg_symbols *symbols;            /* of this one, for modules without a `known` */
	struct gg_error *error;
};

/*
 * How much is known about a frame.  A name made of the function's first address may be replaced by
 * the function's own name at any time.
 */
enum { KNOWN_NOTHING, KNOWN_ADDRESS, KNOWN_FUNCTION, KNOWN_LINE };

static void done(struct work *work)
{
	for (size_t i = 0; i < work->modules.count; i++) {
		free(work->modules.items[i].path);
		free(work->modules.items[i].build_id);
		gg_array_done(&work->modules.items[i].frames);
		gg_array_done(&work->modules.items[i].addresses);
		gg_array_done(&work->modules.items[i].windows);
		gg_array_done(&work->modules.items[i].unknown);
	}
	gg_array_done(&work->modules);
	gg_array_done(&work->known);
}

/* Notes a module of the profile, and if it is complete. */
static int take_module(const struct gg_profile_module *module, void *context)
{
	struct work *work = context;
	struct asked_module *mine;

	if (module->id == 0 || module->path == NULL)
		return 0;
	if (!gg_array_extend(&work->modules, (size_t)module->id + 1))
		return gg_error_memory(work->error, "resolving symbols");
	mine = &work->modules.items[module->id];
	mine->is_complete = module->status != NULL &&
	                    strcmp(module->status, gg_symbol_status_text(GG_SYMBOL_FULL)) == 0;
	mine->path = strdup(module->path);
	if (module->build_id_bytes > 0)
		mine->build_id = malloc(module->build_id_bytes);
	if (mine->path == NULL || (module->build_id_bytes > 0 && mine->build_id == NULL))
		return gg_error_memory(work->error, "resolving symbols");
	if (module->build_id_bytes > 0)
		memcpy(mine->build_id, module->build_id, module->build_id_bytes);
	mine->build_id_bytes = module->build_id_bytes;
	return 0;
}

/* Notes how much the profile knows about a frame: its best line decides. */
static int take_line(const struct gg_profile_line *line, void *context)
{
	struct work *work = context;
	uint8_t value = line->line > 0                             ? KNOWN_LINE
	                : line->function == NULL                   ? KNOWN_NOTHING
	                : gg_address_name_is(line->function, NULL) ? KNOWN_ADDRESS
	                                                           : KNOWN_FUNCTION;

	if (!gg_array_extend(&work->known, (size_t)line->frame + 1))
		return gg_error_memory(work->error, "resolving symbols");
	if (work->known.items[line->frame] < value)
		work->known.items[line->frame] = value;
	return 0;
}

/* Lists a frame under its module, unless all lines of that module are known. */
static int take_frame(const struct gg_profile_frame *frame, void *context)
{
	struct work *work = context;
	struct asked_module *module;
	if (frame->module == 0 || frame->module >= work->modules.count)
		return 0;
	module = &work->modules.items[frame->module];
	if (module->path == NULL || module->is_complete)
		return 0;
	if (!gg_array_push(&module->frames, frame->id) ||
	    !gg_array_push(&module->addresses, frame->address))
		return gg_error_memory(work->error, "resolving symbols");
	return 0;
}

static int gather(struct gg_profile *profile, struct work *work)
{

	int status = gg_profile_each_module(profile, take_module, work, work->error);

	if (status == 0)
		status = gg_profile_each_line(profile, take_line, work, work->error);
	if (status == 0)
		status = gg_profile_each_frame(profile, take_frame, work, work->error);
	return status;
}

static bool is_jit_dump(const char *path)
{
	return path != NULL && gg_symbolize_is_perf_map(path) &&
	       strncmp(gg_path_base(path), "jit-", 4) == 0;
}

static int compare_windows(const void *a, const void *b)
{
	const struct gg_symbol_window *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* A compiler may write its record some time after the code has run already. */
#define WINDOW_SLACK_NS UINT64_C(10000000)

/* Gives the frames of a module their windows of time.  False: memory ran out. */
static bool add_windows(struct asked_module *module, const struct gg_frame_times *times,
                        uint64_t start_ns)
{
	for (size_t i = 0; i < module->frames.count; i++) {
		struct gg_frame_span span = gg_frame_times_span(times, module->frames.items[i]);
		struct gg_symbol_window window = { module->addresses.items[i], 0, UINT64_MAX };

		if (span.from_ns > span.to_ns)
			continue;
		if (span.from_ns > 0)
			window.from_ns = start_ns + (uint64_t)span.from_ns;
		if (span.to_ns != GG_TIME_NONE)
			window.to_ns = start_ns + (uint64_t)(span.to_ns > 0 ? span.to_ns : 0) +
			               WINDOW_SLACK_NS;
		if (!gg_array_push(&module->windows, window))
			return false;
	}
	if (module->windows.count > 0)
		qsort(module->windows.items, module->windows.count, sizeof(*module->windows.items),
		      compare_windows);
	return true;
}

/* Finds when the frames of jitdumps were in use, if there are any. */
static int gather_windows(struct gg_profile *profile, struct work *work, uint64_t start_ns)
{
	struct gg_frame_times times = { 0 };
	bool has_dump = false, has_room = true;
	int status;

	for (size_t i = 0; i < work->modules.count; i++)
		has_dump |= work->modules.items[i].frames.count > 0 &&
		            is_jit_dump(work->modules.items[i].path);
	if (!has_dump || start_ns == 0)
		return 0;
	status = gg_frame_times_read(&times, profile, work->error);
	for (size_t i = 0; status == 0 && has_room && i < work->modules.count; i++)
		if (is_jit_dump(work->modules.items[i].path))
			has_room = add_windows(&work->modules.items[i], &times, start_ns);
	gg_frame_times_done(&times);
	return has_room ? status : gg_error_memory(work->error, "resolving symbols");
}

static uint8_t known_of(const struct work *work, uint32_t frame)
{
	return frame < work->known.count ? work->known.items[frame] : KNOWN_NOTHING;
}

static uint8_t max_known(uint8_t known, const struct gg_symbol_frame *found)
{
	uint8_t value = found->line > 0           ? KNOWN_LINE
	                : found->function == NULL ? KNOWN_NOTHING
	                : found->is_unnamed       ? KNOWN_ADDRESS
	                                          : KNOWN_FUNCTION;

	return value > known ? value : known;
}

/* Writes a frame's lines if they say more than the known ones; counts it if it has a name. */
static int put_frame(struct gg_profile *profile, const struct work *work, uint32_t frame,
                     const struct gg_symbol_frame *found, size_t count,
                     struct gg_symbolize_result *result)
{
	enum { INLINED_MAX = 64 };
	struct gg_profile_line lines[INLINED_MAX];
	uint8_t known = known_of(work, frame), value = KNOWN_NOTHING;

	if (count > INLINED_MAX) { /* the outermost lines stay; they include the function itself */
		found += count - INLINED_MAX;
		count = INLINED_MAX;
	}
	for (size_t i = 0; i < count; i++) {
		lines[i] = (struct gg_profile_line){ .frame = frame,
			                             .depth = (uint32_t)i,
			                             .function = found[i].function,
			                             .full_name = found[i].full_name,
			                             .linkage_name = found[i].linkage_name,
			                             .file = found[i].file,
			                             .line = found[i].line,
			                             .inlined = found[i].inlined };
		value = max_known(value, &found[i]);
	}
	if (known >= KNOWN_FUNCTION || value >= KNOWN_FUNCTION)
		result->named_count++;
	else if (known == KNOWN_ADDRESS || value == KNOWN_ADDRESS)
		result->bounded_count++;
	if (value <= known)
		return 0;
	return gg_profile_put_lines(profile, frame, lines, (uint32_t)count, work->error);
}

/* Writes the module's status: "functions and lines", or a lesser one with advice after a colon. */
static int put_status(struct gg_profile *profile, uint32_t module,
                      const struct gg_symbol_outcome *outcome, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(&text, gg_symbol_status_text(outcome->status));
	if (outcome->text != NULL && outcome->text[0] != '\0')
		gg_buf_printf(&text, ": %s", outcome->text);
	return gg_profile_set_module_status(profile, module, gg_buf_text(&text), error);
}

static size_t frames_of(const struct work *work, const struct asked_module *module, size_t frame,
                        const struct gg_symbol_frame **ret_frames)
{
	return module->known != UINT32_MAX
	               ? gg_known_symbols_frames(work->names, module->known,
	                                         module->addresses.items[frame], ret_frames)
	               : gg_symbols_frames(work->symbols, module->asked, frame, ret_frames);
}

/* Writes the lines of a module's frames. */
static int write_module(struct gg_profile *profile, const struct work *work, uint32_t id,
                        struct gg_symbolize_result *result)
{
	const struct asked_module *module = &work->modules.items[id];
	uint64_t named_before = 0, named_first = result->named_count;
	int status = 0;

	for (size_t i = 0; i < module->frames.count && status == 0; i++) {
		const struct gg_symbol_frame *frames;
		size_t count = frames_of(work, module, i, &frames);

		named_before += known_of(work, module->frames.items[i]) >= KNOWN_FUNCTION;
		status = put_frame(profile, work, module->frames.items[i], frames, count, result);
	}
	result->frame_count += module->frames.count;
	if (result->named_count - named_first > named_before)
		result->improved_count++;
	/*
	 * On another machine the file may be missing.  A status "not found" would then contradict
	 * the names that the profile has, so a module with names keeps its status unless it has
	 * more now.
	 */
	if (status == 0 && (named_before == 0 || result->named_count - named_first > named_before))
		status = put_status(profile, id,
		                    module->known != UINT32_MAX
		                            ? gg_known_symbols_outcome(work->names, module->known)
		                            : gg_symbols_outcome(work->symbols, module->asked),
		                    work->error);
	return status;
}

bool gg_symbolize_is_perf_map(const char *path)
{
	unsigned pid;
	int end = 0;
	const char *name = gg_path_base(path);

	if (sscanf(name, "perf-%u.map%n", &pid, &end) != 1 || end == 0)
		sscanf(name, "jit-%u.dump%n", &pid, &end);
	return end > 0 && name[end] == '\0';
}

static struct gg_symbol_module question_of(const struct asked_module *module)
{
	return (struct gg_symbol_module){
		.path = module->path,
		.kind = gg_symbolize_is_perf_map(module->path) ? GG_SYMBOL_PERF_MAP
		                                               : GG_SYMBOL_FILE,
		.build_id = module->build_id,
		.build_id_bytes = module->build_id_bytes,
		.addresses = module->addresses.items,
		.address_count = module->addresses.count,
		.windows = module->windows.items,
		.window_count = module->windows.count,
	};
}

/* Leaves the addresses that earlier look-ups did not have.  False: memory ran out. */
static bool leave_out_known(const struct work *work, struct asked_module *module,
                            struct gg_symbol_module *question)
{
	module->known = UINT32_MAX;
	if (work->names == NULL || question->kind != GG_SYMBOL_FILE ||
	    question->build_id_bytes == 0 || question->window_count > 0)
		return true;
	module->known = gg_known_symbols_module(work->names, question);
	if (module->known == UINT32_MAX)
		return false;
	for (size_t i = 0; i < module->addresses.count; i++)
		if (!gg_known_symbols_has(work->names, module->known, module->addresses.items[i]) &&
		    !gg_array_push(&module->unknown, module->addresses.items[i]))
			return false;
	question->addresses = module->unknown.items;
	question->address_count = module->unknown.count;
	return true;
}

/* The modules of a look-up. */
struct questions {
	GG_ARRAY(struct gg_symbol_module) modules;
	GG_ARRAY(uint32_t) numbers; /* of the modules in `names` */
};

static bool add_question(struct questions *questions, const struct gg_symbol_module *module,
                         uint32_t number)
{
	return gg_array_push(&questions->modules, *module) &&
	       gg_array_push(&questions->numbers, number);
}

static void questions_done(struct questions *questions)
{
	gg_array_done(&questions->modules);
	gg_array_done(&questions->numbers);
}

static int ask(struct work *work, const struct questions *questions,
               const struct gg_symbol_options *options, struct gg_symbols **ret_symbols)
{
	if (questions->modules.count == 0)
		return 0;
	return gg_symbols_resolve(ret_symbols, questions->modules.items, questions->modules.count,
	                          options, work->error);
}

/* Asks, and lets `names` keep the answers. */
static int ask_and_keep(struct work *work, const struct questions *questions,
                        const struct gg_symbol_options *options)
{
	struct gg_symbols *symbols = NULL;
	int status = ask(work, questions, options, &symbols);

	if (status < 0 || symbols == NULL)
		return status;
	if (gg_known_symbols_keep(work->names, symbols, questions->modules.items,
	                          questions->numbers.items, questions->modules.count) < 0) {
		gg_symbols_free(symbols);
		return gg_error_memory(work->error, "resolving symbols");
	}
	return 0;
}

/* Looks up the frames of all modules that have any. */
static int resolve(struct gg_profile *profile, struct work *work,
                   const struct gg_symbol_options *options, struct gg_symbolize_result *result)
{
	/* `names` keeps whole look-ups, so modules that it does not keep have one of their own. */
	struct questions own = { 0 }, kept = { 0 };
	bool has_room = true;
	int status = 0;

	for (size_t i = 1; has_room && i < work->modules.count; i++) {
		struct asked_module *module = &work->modules.items[i];
		struct gg_symbol_module question = question_of(module);

		if (module->frames.count == 0)
			continue;
		has_room = leave_out_known(work, module, &question);
		result->module_count++;
		if (question.address_count == 0)
			continue;
		module->asked = own.modules.count;
		has_room = has_room && add_question(module->known == UINT32_MAX ? &own : &kept,
		                                    &question, module->known);
	}
	if (!has_room)
		status = gg_error_memory(work->error, "resolving symbols");
	if (status == 0)
		status = ask(work, &own, options, &work->symbols);
	if (status == 0)
		status = ask_and_keep(work, &kept, options);
	for (size_t i = 1; status == 0 && i < work->modules.count; i++)
		if (work->modules.items[i].frames.count > 0)
			status = write_module(profile, work, (uint32_t)i, result);
	gg_symbols_free(work->symbols);
	questions_done(&own);
	questions_done(&kept);
	return status;
}

int gg_symbolize_with(struct gg_profile *profile, const struct gg_symbol_options *options,
                      struct gg_known_symbols *names, struct gg_symbolize_result *ret_result,
                      struct gg_error *error)
{
	struct gg_symbolize_result result = { 0 };
	struct work work = { .names = names, .error = error };
	int status = gather(profile, &work);

	if (names != NULL)
		gg_known_symbols_begin(names);

	if (status == 0 && options != NULL)
		status = gather_windows(profile, &work, options->start_monotonic_ns);
	if (status == 0)
		status = resolve(profile, &work, options, &result);
	done(&work);
	if (status == 0)
		*ret_result = result;
	return status;
}

int gg_symbolize(struct gg_profile *profile, const struct gg_symbol_options *options,
                 struct gg_symbolize_result *ret_result, struct gg_error *error)
{
	return gg_symbolize_with(profile, options, NULL, ret_result, error);
}
