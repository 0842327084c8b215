/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_functions - unites equal functions of a model, and chooses their names in reports.
 *
 * The full name identifies a function: ns::f<int>(char).  Copies that the compiler made (f.part.0,
 * f.isra.0, "[clone .cold]") are the same function, because debug information does not distinguish
 * them.  Functions with internal linkage (static, or in an unnamed namespace) may share a
 * full name; then each source file has its own function.
 *
 * Not every source of names has all of this, so two rules fill gaps.  A function without a file
 * equals the function of the same full name if only one file has such a function.  A name without
 * arguments, which DWARF gives for functions that were inlined everywhere, equals the only function
 * in the module whose full name continues with arguments.
 *
 * Screens show short names where those are unambiguous (distinct_names.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/path.h"
#include "model/distinct_names.h"
#include "model/model_builder.h"

/* If more functions than this share a short name, those without arguments are not matched. */
enum { JOIN_MAX = 1000 };

#define RENUMBERED (UINT32_C(1) << 31)

/* --- identity of functions ---------------------------------------------------------------- */

/* A function as one file has it, while equal functions are being found. */
struct function_identity {
	const char *name, *full_name; /* short name; full name without suffixes of copies */
	const char *file;             /* NULL: the full name suffices, or the file is unknown */
	uint32_t module, number;
	bool is_linked; /* the linker knows it by its full name */
};

static bool is_mangled(const char *name)
{
	return name != NULL && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* True for a file whose code becomes part of other files: a header, or input of a generator. */
static bool is_included(const char *path)
{
	static const char *const endings[] = { "inc",   "inl", "ipp", "tcc", "txx", "def",
		                               "tbl",   "y",   "yy",  "ypp", "l",   "ll",
		                               "gperf", "rl",  "re",  "pyx", "vala" };
	const char *dot = gg_path_extension(path);

	if (dot[0] == '\0' || dot[1] == 'h' || dot[1] == 'H')
		return true;
	for (size_t i = 0; i < GG_COUNT(endings); i++)
		if (strcmp(dot + 1, endings[i]) == 0)
			return true;
	return false;
}

/* The full name without suffixes of copies, interned. */
static const char *full_name_of(struct gg_model_builder *builder,
                                const struct gg_model_function *function, bool *failed)
{
	static const char clone[] = " [clone .";
	const char *full = function->full_name, *end;
	size_t length = strlen(function->name);
	const char *kept;
	char *copy;

	if (full == NULL || full[0] == '\0' || full == function->name)
		return function->name;
	if (strncmp(full, function->name, length) == 0 &&
	    (full[length] == '.' || full[length] == '@'))
		return function->name;
	end = strstr(full, clone);
	if (end == NULL)
		return full;
	copy = strndup(full, (size_t)(end - full));
	if (copy == NULL) {
		*failed = true;
		return full;
	}
	kept = gg_model_text(builder, copy, failed);
	free(copy);
	return kept;
}

static struct function_identity identity_of(struct gg_model_builder *builder, uint32_t number,
                                            bool *failed)
{
	const struct gg_model_function *records = builder->functions.items;
	const struct gg_model_function *function = &records[number];
	const char *full = full_name_of(builder, function, failed);
	bool is_linked = is_mangled(function->linkage_name) &&
	                 strncmp(function->linkage_name, "_ZL", 3) != 0 &&
	                 strstr(full, "(anonymous namespace)") == NULL;

	return (struct function_identity){
		.name = function->name,
		.full_name = full,
		.file = is_linked || function->file == NULL || is_included(function->file)
		                ? NULL
		                : function->file,
		.module = function->module,
		.number = number,
		.is_linked = is_mangled(function->linkage_name),
	};
}

static int compare_numbers(uintptr_t a, uintptr_t b)
{
	return (a > b) - (a < b);
}

/* Interned texts compare by address, because only equality matters. */
static int compare_identities(const void *a, const void *b)
{
	const struct function_identity *left = a, *right = b;
	int order = compare_numbers(left->module, right->module);

	if (order == 0)
		order = compare_numbers((uintptr_t)left->name, (uintptr_t)right->name);
	if (order == 0)
		order = compare_numbers((uintptr_t)left->full_name, (uintptr_t)right->full_name);
	if (order == 0)
		order = compare_numbers((uintptr_t)left->file, (uintptr_t)right->file);
	return order != 0 ? order : compare_numbers(left->number, right->number);
}

/* Unites equal ones among identities of one full name: they get the number of the first. */
static void join_files(const struct function_identity *of, size_t count, uint32_t *same)
{
	size_t first = 0, file_count = 0;

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && of[i].file == of[i - 1].file) {
			same[of[i].number] = same[of[i - 1].number];
			continue;
		}
		if (of[i].file != NULL && file_count++ == 0)
			first = i;
	}
	for (size_t i = 0; i < count && of[i].file == NULL && file_count == 1; i++)
		same[of[i].number] = of[first].number;
}

/* True if the name may lack its arguments; names of C never have them. */
static bool lacks_arguments(const struct function_identity *of)
{
	return !of->is_linked && of->full_name[strlen(of->full_name) - 1] != ')' &&
	       (strstr(of->full_name, "::") != NULL || strstr(of->full_name, "<...>") != NULL);
}

/* True if `more` is the full name with arguments, perhaps after a return type. */
static bool goes_on(const struct function_identity *more, const struct function_identity *of)
{
	const char *at = strstr(more->full_name, of->full_name);

	if (!more->is_linked)
		return false;
	return of->full_name == of->name || (at != NULL && at[strlen(of->full_name)] == '(' &&
	                                     (at == more->full_name || at[-1] == ' '));
}

/* Matches names without arguments, among identities of one short name in one module. */
static void join_incomplete(const struct function_identity *of, size_t count, uint32_t *same)
{
	for (size_t i = 0; i < count; i++) {
		const struct function_identity *whole = NULL;
		bool is_only = true;

		if (!lacks_arguments(&of[i]))
			continue;
		for (size_t k = 0; k < count; k++) {
			if (!goes_on(&of[k], &of[i]))
				continue;
			is_only &= whole == NULL || same[whole->number] == same[of[k].number];
			whole = &of[k];
		}
		if (whole != NULL && is_only)
			same[of[i].number] = same[whole->number];
	}
}

/* The end of the range from `from` on with one module and short name, or also one full name. */
static size_t run_end(const struct function_identity *of, size_t from, size_t count, bool full)
{
	size_t to = from;

	while (to < count && of[to].module == of[from].module && of[to].name == of[from].name &&
	       (!full || of[to].full_name == of[from].full_name))
		to++;
	return to;
}

static void join(const struct function_identity *of, size_t count, uint32_t *same)
{
	for (size_t from = 0, end; from < count; from = end) {
		size_t to = from;

		end = run_end(of, from, count, false);
		for (size_t i = from; i < end; i = to) {
			to = run_end(of, i, end, true);
			join_files(&of[i], to - i, same);
		}
		if (end - from > 1 && end - from <= JOIN_MAX)
			join_incomplete(&of[from], end - from, same);
	}
}

/* --- renumbering -------------------------------------------------------------------------- */

/* Copies what a duplicate knows to the function that stays. */
static void merge_record(struct gg_model_function *to, const struct gg_model_function *from)
{
	to->is_entry |= from->is_entry;
	to->is_wrapper |= from->is_wrapper;
	if (from->linkage_name != NULL &&
	    (to->linkage_name == NULL || from->full_name == to->full_name))
		to->linkage_name = from->linkage_name;
}

/* Moves the functions that stay to the front; `same` becomes the new number of each function. */
static void renumber_functions(struct gg_model_builder *builder, uint32_t *same)
{
	struct gg_model_function *records = builder->functions.items;
	size_t count = builder->functions.count;
	uint32_t next = 0;

	for (size_t i = 0; i < count; i++)
		if (same[i] != i)
			merge_record(&records[same[i]], &records[i]);
	for (size_t i = 0; i < count; i++) {
		if (same[i] != i)
			continue;
		records[next] = records[i];
		same[i] = next++ | RENUMBERED;
	}
	for (size_t i = 0; i < count; i++)
		if ((same[i] & RENUMBERED) == 0)
			same[i] = same[same[i]];
	for (size_t i = 0; i < count; i++)
		same[i] &= ~RENUMBERED;
	gg_assert(next > 0 && next <= count);
	builder->functions.count = next;
}

/* Renumbers the functions of lines and locations; lines that become equal get one number. */
static int renumber_lines(struct gg_model_builder *builder, const uint32_t *number_of)
{
	struct gg_code_location *locations = builder->locations.items;
	struct gg_model_line_array old = builder->lines;
	const struct gg_model_line *lines = old.items;
	uint32_t *line_of = calloc(old.count + 1, sizeof(*line_of));
	int status = line_of != NULL ? 0 : -ENOMEM;

	builder->lines = (struct gg_model_line_array){ 0 };
	gg_map_done(&builder->line_map);
	for (size_t i = 0; i < old.count && status == 0; i++) {
		struct gg_model_line line = lines[i];

		line.function = number_of[line.function];
		line_of[i] = gg_model_put_line(builder, &line);
		status = line_of[i] != UINT32_MAX ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < builder->locations.count && status == 0; i++)
		locations[i] = (struct gg_code_location){ number_of[locations[i].function],
			                                  line_of[locations[i].line] };
	gg_array_done(&old);
	free(line_of);
	return status;
}

static int unite(struct gg_model_builder *builder, struct function_identity *of, uint32_t *same)
{
	struct gg_model_function *records = builder->functions.items;
	size_t count = builder->functions.count, named = 0;
	bool failed = false, any = false;

	for (uint32_t i = 0; i < count; i++) {
		same[i] = i;
		if (records[i].is_named)
			of[named++] = identity_of(builder, i, &failed);
	}
	if (failed)
		return -ENOMEM;
	qsort(of, named, sizeof(*of), compare_identities);
	join(of, named, same);
	for (size_t i = 0; i < named; i++) {
		struct gg_model_function *function = &records[of[i].number];

		function->full_name = of[i].full_name;
		function->file = of[i].file;
		any |= same[of[i].number] != of[i].number;
	}
	if (!any)
		return 0;
	renumber_functions(builder, same);
	gg_map_done(&builder->function_map); /* all functions are known */
	return renumber_lines(builder, same);
}

int gg_model_unite_functions(struct gg_model_builder *builder)
{
	size_t count = builder->functions.count;
	struct function_identity *of = calloc(count + 1, sizeof(*of));
	uint32_t *same = calloc(count + 1, sizeof(*same));
	int status = of != NULL && same != NULL && count < RENUMBERED ? unite(builder, of, same)
	                                                              : -ENOMEM;

	free(of);
	free(same);
	return status;
}

/* --- names -------------------------------------------------------------------------------- */

/* The first model interns the texts, so that equal texts are one pointer in all models. */
struct called {
	const char *name, *full_name, *file;
	struct gg_model_function *function;
	struct gg_model_builder *builder;
};

/* Rust's legacy names end in "::h" and a hash of 16 digits, which differs between builds. */
static size_t length_without_hash(const char *full)
{
	size_t length = strlen(full);

	if (length < 20 || strncmp(full + length - 19, "::h", 3) != 0 ||
	    strspn(full + length - 16, "0123456789abcdef") != 16)
		return length;
	return length - 19;
}

static struct called called_of(struct gg_model_builder *builder, struct gg_model_function *function,
                               struct gg_model_builder *first,
                               const struct gg_model_name_options *options, bool *failed)
{
	struct called called = { .builder = builder,
		                 .function = function,
		                 .full_name = function->full_name,
		                 .file = function->file,
		                 .name = options->full_names ? function->full_name
		                                             : function->short_name };
	char *full;

	if (builder == first && !options->across_builds)
		return called; /* the texts belong to this model already */
	full = strdup(function->full_name);
	if (full == NULL) {
		*failed = true;
		return called;
	}
	if (options->across_builds) {
		full[length_without_hash(full)] = '\0';
		called.file = gg_path_base(called.file);
	}
	called.full_name = gg_model_text(first, full, failed);
	called.file = gg_model_text(first, called.file, failed);
	called.name = options->full_names ? called.full_name
	                                  : gg_model_text(first, function->short_name, failed);
	free(full);
	return called;
}

static int compare_called(const void *a, const void *b)
{
	const struct called *left = a, *right = b;
	int order = compare_numbers((uintptr_t)left->name, (uintptr_t)right->name);

	if (order == 0)
		order = compare_numbers((uintptr_t)left->full_name, (uintptr_t)right->full_name);
	return order != 0 ? order : compare_numbers((uintptr_t)left->file, (uintptr_t)right->file);
}

static bool is_same(const struct called *a, const struct called *b)
{
	return a->full_name == b->full_name && a->file == b->file;
}

/* Names functions [0, count), which share a short name but are different functions. */
static int call_apart(struct called *called, size_t count)
{
	struct gg_distinct_name *names = calloc(count, sizeof(*names));
	size_t used = 0;
	bool failed = false;
	int status;

	if (names == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (i == 0 || !is_same(&called[i], &called[i - 1]))
			names[used++] = (struct gg_distinct_name){ .full_name = called[i].full_name,
				                                   .file = called[i].file };
	status = gg_distinct_names(called[0].name, names, used);
	for (size_t i = 0, at = 0; i < count && status == 0; i++) {
		at += i > 0 && !is_same(&called[i], &called[i - 1]);
		called[i].function->name = gg_model_text(called[i].builder,
		                                         gg_buf_text(&names[at].text), &failed);
	}
	for (size_t i = 0; i < used; i++)
		gg_buf_done(&names[i].text);
	free(names);
	return failed ? -ENOMEM : status;
}

static int call_all(struct called *called, size_t count)
{
	int status = 0;

	qsort(called, count, sizeof(*called), compare_called);
	for (size_t from = 0, to; from < count && status == 0; from = to) {
		bool is_one = true, failed = false;

		for (to = from; to < count && called[to].name == called[from].name; to++)
			is_one &= is_same(&called[to], &called[from]);
		if (!is_one)
			status = call_apart(&called[from], to - from);
		for (size_t i = from; i < to && is_one; i++)
			called[i].function->name = called[i].function->short_name == called[i].name
			                                   ? called[i].name
			                                   : gg_model_text(called[i].builder,
			                                                   called[i].name, &failed);
		status = failed ? -ENOMEM : status;
	}
	return status;
}

/* Adds the named functions of a model to called[0..*count). */
static bool add_called(struct called *called, size_t *count, struct gg_model_builder *builder,
                       struct gg_model_builder *first, const struct gg_model_name_options *options)
{
	struct gg_model_function *functions = builder->functions.items;
	bool failed = false;

	for (size_t i = 0; i < builder->functions.count && !failed; i++)
		if (functions[i].is_named)
			called[(*count)++] = called_of(builder, &functions[i], first, options,
			                               &failed);
	return !failed;
}

int gg_model_name_functions(struct gg_model *const *models, size_t model_count,
                            const struct gg_model_name_options *options, struct gg_error *error)
{
	struct called *called;
	size_t most = 1, count = 0;
	int status = 0;

	for (size_t i = 0; i < model_count; i++)
		most += models[i]->function_count;
	called = calloc(most, sizeof(*called));
	if (called == NULL)
		return gg_error_memory(error, "names");
	for (size_t i = 0; i < model_count && status == 0; i++)
		if (!add_called(called, &count, gg_model_builder_of(models[i]),
		                gg_model_builder_of(models[0]), options))
			status = -ENOMEM;
	if (status == 0)
		status = call_all(called, count);
	free(called);
	return status < 0 ? gg_error_memory(error, "names") : 0;
}
