/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_hint - ranks modules by the bytes of their functions without a name, and says what helps.
 *
 * A stack counts once for a module, however many of its frames have no name.  Callers have smaller
 * numbers than the stacks that they called, so one pass over the stacks finds which modules have a
 * frame without a name on each of them.
 */
#include "report/symbol_hint.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "symbol/package/debug_package.h"
#include "symbol/symbol.h"

/* A module with a smaller share of all bytes is not worth a package. */
static const double small_share = 0.02;

/* More modules without names than bits are left out: those found last. */
enum { BITS_MAX = 64 };

/* A module with functions without a name, and its bytes. */
struct unnamed_module {
	uint32_t module;
	double self_bytes, total_bytes;
};

struct unnamed_ranking {
	const struct gg_model *model;
	double *bytes;   /* by stack: allocated there */
	uint64_t *masks; /* by stack: bits of `modules` whose functions are on it without a name */
	struct unnamed_module modules[BITS_MAX];
	size_t count;
	double all_bytes;
};

/* --- ranking ------------------------------------------------------------------------------ */

static void add_bytes(struct unnamed_ranking *ranking, uint32_t stack, double bytes)
{
	ranking->bytes[stack] += bytes;
	ranking->all_bytes += bytes;
}

static void add_all_bytes(struct unnamed_ranking *ranking)
{
	const struct gg_model *model = ranking->model;
	const struct gg_model_sample *samples = model->samples;
	const struct gg_profile_aggregate *aggregates = model->aggregates;

	for (size_t i = 0; i < model->sample_count; i++)
		if (samples[i].block == i)
			add_bytes(ranking, samples[i].stack, samples[i].weighted_bytes);
	for (size_t i = 0; i < model->aggregate_count; i++)
		add_bytes(ranking, aggregates[i].stack, gg_fixed_value(aggregates[i].sums.bytes));
}

/* Returns the bit of the module if the function of the stack's innermost frame has no name. */
static uint64_t bit_of(struct unnamed_ranking *ranking, uint32_t stack)
{
	const struct gg_model_frame *frame = gg_model_stack_frame(ranking->model, stack);
	const struct gg_code_location *location =
		&ranking->model->locations[frame->first_location + frame->location_count - 1];
	size_t i = 0;

	if (frame->module == 0 || ranking->model->functions[location->function].is_named)
		return 0;
	while (i < ranking->count && ranking->modules[i].module != frame->module)
		i++;
	if (i == BITS_MAX)
		return 0;
	if (i == ranking->count)
		ranking->modules[ranking->count++].module = frame->module;
	return UINT64_C(1) << i;
}

static void sum_up(struct unnamed_ranking *ranking)
{
	const struct gg_model_stack *stacks = ranking->model->stacks;

	for (uint32_t stack = 1; stack < ranking->model->stack_count; stack++)
		ranking->masks[stack] = ranking->masks[stacks[stack].parent] |
		                        bit_of(ranking, stack);
	for (uint32_t stack = 1; stack < ranking->model->stack_count; stack++) {
		uint32_t top = stacks[stack].top;
		uint64_t self = top != 0 ? bit_of(ranking, top) : 0;

		for (size_t i = 0; ranking->bytes[stack] > 0 && i < ranking->count; i++) {
			uint64_t bit = UINT64_C(1) << i;

			if ((ranking->masks[stack] & bit) != 0)
				ranking->modules[i].total_bytes += ranking->bytes[stack];
			if ((self & bit) != 0)
				ranking->modules[i].self_bytes += ranking->bytes[stack];
		}
	}
}

static int compare_modules(const void *a, const void *b)
{
	const struct unnamed_module *left = a, *right = b;

	if (left->self_bytes != right->self_bytes)
		return left->self_bytes > right->self_bytes ? -1 : 1;
	if (left->total_bytes != right->total_bytes)
		return left->total_bytes > right->total_bytes ? -1 : 1;
	return left->module < right->module ? -1 : left->module > right->module;
}

struct gg_symbol_hint_modules gg_symbol_hint_rank(const struct gg_model *model)
{
	struct gg_symbol_hint_modules result = { .count = 0 };
	struct unnamed_ranking ranking = {
		.model = model,
		.bytes = calloc(model->stack_count, sizeof(*ranking.bytes)),
		.masks = calloc(model->stack_count, sizeof(*ranking.masks)),
	};

	if (ranking.bytes != NULL && ranking.masks != NULL) {
		add_all_bytes(&ranking);
		sum_up(&ranking);
		for (size_t i = 0; i < ranking.count; i++)
			if (ranking.modules[i].self_bytes < small_share * ranking.all_bytes)
				ranking.modules[i].self_bytes = 0;
		qsort(ranking.modules, ranking.count, sizeof(*ranking.modules), compare_modules);
	}
	for (size_t i = 0; i < ranking.count && result.count < GG_SYMBOL_HINT_MODULES_MAX; i++)
		if (i == 0 || ranking.modules[i].total_bytes >= small_share * ranking.all_bytes)
			result.modules[result.count++] = ranking.modules[i].module;
	free(ranking.bytes);
	free(ranking.masks);
	return result;
}

/* --- text --------------------------------------------------------------------------------- */

/* True if the module's own file was found, and debug symbols of it would help. */
static bool lacks_debug_file(const struct gg_model_module *module)
{
	static const enum gg_symbol_status statuses[] = { GG_SYMBOL_NAMES, GG_SYMBOL_STRIPPED };

	for (size_t i = 0; i < GG_COUNT(statuses) && module->status != NULL; i++) {
		const char *text = gg_symbol_status_text(statuses[i]);

		if (strncmp(module->status, text, strlen(text)) == 0)
			return true;
	}
	return false;
}

/* Appends "a", "a and b" or "a, b and c", without repetitions and NULL. */
static void append_list(const char *const *texts, size_t count, struct gg_buf *out)
{
	const char *kept[GG_SYMBOL_HINT_MODULES_MAX];
	size_t kept_count = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_new = texts[i] != NULL;

		for (size_t k = 0; k < kept_count; k++)
			is_new &= texts[i] == NULL || strcmp(kept[k], texts[i]) != 0;
		if (is_new)
			kept[kept_count++] = texts[i];
	}
	for (size_t i = 0; i < kept_count; i++)
		gg_buf_printf(out, "%s%s",
		              i == 0               ? ""
		              : i + 1 < kept_count ? ", "
		                                   : " and ",
		              kept[i]);
}

/* Appends how to install the packages; their archive is not among those of a usual system. */
static void append_install(enum gg_package_system system, const char *root,
                           const struct gg_debug_package *files, size_t count, struct gg_buf *out)
{
	const char *names[GG_SYMBOL_HINT_MODULES_MAX], *archive = gg_debug_package_archive(root);
	bool is_in_archive = false;

	for (size_t i = 0; i < count; i++) {
		names[i] = files[i].name;
		is_in_archive |= strstr(names[i], "-dbgsym") != NULL;
	}
	gg_buf_append_text(out,
	                   system == GG_PACKAGE_SYSTEM_RPM ? ": debuginfo-install " : ": install ");
	append_list(names, count, out);
	if (system == GG_PACKAGE_SYSTEM_DPKG && is_in_archive && archive[0] != '\0')
		gg_buf_printf(out, " (%s)", archive);
}

/* Appends what would help the first module, in the words of its look-up. */
static void append_status(const struct gg_model_module *module, struct gg_buf *out)
{
	const char *full = gg_symbol_status_text(GG_SYMBOL_FULL);

	gg_buf_printf(out, "in %s: ", module->name);
	if (module->status == NULL || module->status[0] == '\0')
		gg_buf_append_text(out, "run 'geiger symbolize' to look up its functions");
	else if (strncmp(module->status, full, strlen(full)) == 0)
		gg_buf_append_text(out, "its symbols do not name these addresses");
	else
		gg_buf_append_text(out, module->status);
}

void gg_symbol_hint_append(const struct gg_model *model, const char *root, struct gg_buf *out)
{
	struct gg_symbol_hint_modules ranked = gg_symbol_hint_rank(model);
	struct gg_debug_package files[GG_SYMBOL_HINT_MODULES_MAX];
	const char *names[GG_SYMBOL_HINT_MODULES_MAX];
	const struct gg_model_module *modules = model->modules;
	enum gg_package_system system;
	size_t count = 0, packaged_count = 0;

	for (size_t i = 0; i < ranked.count; i++)
		if (lacks_debug_file(&modules[ranked.modules[i]]))
			files[count++].path = modules[ranked.modules[i]].path;
	system = gg_debug_packages_find(root, files, count);
	for (size_t i = 0; i < count; i++) {
		struct gg_debug_package file = files[i];

		files[i].name = NULL;
		if (file.name == NULL)
			continue;
		names[packaged_count] = gg_path_base(file.path);
		files[packaged_count++] = file;
	}
	if (packaged_count > 0 && strcmp(files[0].path, modules[ranked.modules[0]].path) == 0) {
		gg_buf_append_text(out, "in ");
		append_list(names, packaged_count, out);
		append_install(system, root, files, packaged_count, out);
		if (strstr(modules[ranked.modules[0]].status, "DEBUGINFOD_URLS") != NULL)
			gg_buf_append_text(out, ", or set DEBUGINFOD_URLS");
	} else if (ranked.count > 0) {
		append_status(&modules[ranked.modules[0]], out);
	}
	gg_debug_packages_done(files, packaged_count);
}
