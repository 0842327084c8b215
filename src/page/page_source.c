/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_source - the source lines of the functions that allocated most.
 *
 * Each line of a stack gets the bytes of all samples below it.  The lines of one function and one
 * file are a passage: from a little before its first line to a little after its last one.  The
 * heaviest passages are written until the limit of the text is reached.
 */
#include "page/page_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "model/model.h"
#include "page/page_names.h"

enum {
	LINES_BEFORE = 8, /* people want to see the head of the function */
	LINES_AFTER = 4,
	PASSAGE_LINES_MAX = 500,
	PASSAGES_MAX = 200,
	LINE_BYTES_MAX = 400,
	FILE_BYTES_MAX = 8 << 20,
	SOURCE_BYTES_MAX = 256 << 10, /* of all passages */
};

/* The lines of one function in one file that stacks have. */
struct passage {
	uint32_t function;
	const char *file; /* interned */
	uint32_t first, last;
	double weight; /* bytes of its heaviest line */
};

struct source_text {
	const char *file;    /* of `text`; NULL: no file was read */
	const char *problem; /* why `text` is empty; NULL: it is complete */
	struct gg_buf text;
};

/* --- passages ------------------------------------------------------------------------------- */

/* Returns the bytes that were allocated at and below each line; NULL: out of memory. */
static double *weigh_lines(const struct gg_page_run *run)
{
	const struct gg_model *model = run->model;
	double *by_stack = calloc(model->stack_count + 1, sizeof(*by_stack));
	double *by_line = calloc(model->line_count + 1, sizeof(*by_line));

	for (size_t i = 0; by_stack != NULL && i < run->pick_count; i++) {
		const struct gg_page_pick *pick = &run->picks[i];

		by_stack[pick->top] += pick->sample != NULL
		                               ? pick->sample->weighted_bytes
		                               : gg_fixed_value(pick->aggregate->sums.bytes);
	}
	for (size_t i = model->stack_count; by_stack != NULL && by_line != NULL && i-- > 1;) {
		size_t count;
		const struct gg_code_location *locations = gg_model_stack_locations(
			model, (uint32_t)i, &count);

		by_stack[model->stacks[i].parent] += by_stack[i];
		for (size_t k = 0; k < count; k++)
			by_line[locations[k].line] += by_stack[i];
	}
	if (by_stack == NULL) {
		free(by_line);
		by_line = NULL;
	}
	free(by_stack);
	return by_line;
}

static int compare_places(const void *a, const void *b)
{
	const struct passage *left = a, *right = b;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	if (left->file != right->file)
		return left->file < right->file ? -1 : 1;
	return (left->first > right->first) - (left->first < right->first);
}

static int compare_weights(const void *a, const void *b)
{
	const struct passage *left = a, *right = b;

	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	return compare_places(a, b);
}

/* Merges passages of one function and one file.  Returns how many are left. */
static size_t merge(struct passage *passages, size_t count)
{
	size_t kept = 0;

	qsort(passages, count, sizeof(*passages), compare_places);
	for (size_t i = 0; i < count; i++) {
		struct passage *before = kept > 0 ? &passages[kept - 1] : NULL;

		if (before == NULL || before->function != passages[i].function ||
		    before->file != passages[i].file) {
			passages[kept++] = passages[i];
			continue;
		}
		before->last = passages[i].last;
		if (passages[i].weight > before->weight)
			before->weight = passages[i].weight;
	}
	qsort(passages, kept, sizeof(*passages), compare_weights);
	return kept;
}

/* Returns the passages, the heaviest first; the caller frees them.  NULL: out of memory. */
static struct passage *find_passages(const struct gg_page_run *run, size_t *ret_count)
{
	const struct gg_model *model = run->model;
	struct passage *passages = calloc(model->line_count + 1, sizeof(*passages));
	double *weights = weigh_lines(run);
	size_t count = 0;

	for (size_t i = 1; passages != NULL && weights != NULL && i < model->line_count; i++) {
		struct gg_model_line line = model->lines[i];

		if (weights[i] > 0 && line.file != NULL && line.line > 0)
			passages[count++] = (struct passage){ line.function, line.file, line.line,
				                              line.line, weights[i] };
	}
	if (weights == NULL) {
		free(passages);
		return NULL;
	}
	free(weights);
	*ret_count = passages != NULL ? merge(passages, count) : 0;
	return passages;
}

/* --- files ---------------------------------------------------------------------------------- */

static bool has_source_suffix(const char *path)
{
	static const char *const suffixes[] = {
		"c",   "h",    "cc",  "hh",  "cpp",   "hpp", "cxx", "hxx",   "c++", "h++", "C",
		"H",   "inl",  "ipp", "tcc", "inc",   "def", "y",   "l",     "yy",  "ll",  "s",
		"S",   "asm",  "rs",  "go",  "py",    "pyx", "lua", "rb",    "pl",  "pm",  "js",
		"ts",  "java", "kt",  "d",   "zig",   "nim", "m",   "mm",    "f",   "f90", "F90",
		"f03", "f08",  "cu",  "cuh", "swift", "ml",  "hs",  "scala", "cs",  "php",
	};
	const char *dot = strrchr(path, '.');

	if (dot == NULL || strchr(dot, '/') != NULL)
		return false;
	for (size_t i = 0; i < GG_COUNT(suffixes); i++)
		if (strcmp(dot + 1, suffixes[i]) == 0)
			return true;
	return false;
}

static void read_text(struct source_text *source, int file)
{
	struct stat about;
	char bytes[1 << 14];
	ssize_t got;

	if (fstat(file, &about) < 0 || !S_ISREG(about.st_mode)) {
		source->problem = "not a regular file";
		return;
	}
	if (about.st_size > FILE_BYTES_MAX) {
		source->problem = "larger than 8 MiB";
		return;
	}
	while ((got = read(file, bytes, sizeof(bytes))) > 0)
		gg_buf_append(&source->text, bytes, (size_t)got);
	if (source->text.failed || source->text.length == 0 ||
	    memchr(source->text.data, '\0', source->text.length) != NULL)
		source->problem = "not a text";
}

/* Reads the file that a line table names, after the substitution of source_path. */
static void open_source(struct source_text *source, const struct gg_page_options *options,
                        const char *name)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	const char *from = options->source_path, *to = from != NULL ? strchr(from, '=') : NULL;
	int file;

	if (source->file == name)
		return;
	source->file = name;
	source->problem = NULL;
	gg_buf_clear(&source->text);
	if (to != NULL && strncmp(name, from, (size_t)(to - from)) == 0)
		gg_buf_printf(&path, "%s%s", to + 1, name + (to - from));
	else
		gg_buf_append_text(&path, name);
	if (!has_source_suffix(gg_buf_text(&path))) {
		source->problem = "its suffix is not that of source code";
		return;
	}
	if (gg_buf_text(&path)[0] != '/' && path.length == strlen(name)) {
		source->problem = "a relative path; --source-path =FOLDER/ completes it";
		return;
	}
	file = open(gg_buf_text(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0) {
		source->problem = errno == ENOENT ? "no such file" : "cannot be read";
		return;
	}
	read_text(source, file);
	close(file);
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Writes the lines first .. last of the text.  Returns their bytes. */
static size_t write_lines(const struct gg_buf *text, uint32_t first, uint32_t last,
                          struct gg_json *json)
{
	const char *at = gg_buf_text(text), *end = at + text->length;
	size_t bytes = 0;

	gg_json_open(json, "lines", '[');
	for (uint32_t number = 1; at < end && number <= last; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((stop != NULL ? stop : end) - at);
		char line[LINE_BYTES_MAX + 1];

		if (number >= first) {
			size_t shown = length > LINE_BYTES_MAX ? LINE_BYTES_MAX : length;

			memcpy(line, at, shown);
			line[shown] = '\0';
			gg_json_text(json, NULL, line);
			bytes += shown + 1;
		}
		at += length + 1;
	}
	gg_json_close(json);
	return bytes;
}

static size_t write_passage(struct gg_page_run *run, const struct passage *passage,
                            struct source_text *source, struct gg_json *json)
{
	uint32_t first = passage->first > LINES_BEFORE ? passage->first - LINES_BEFORE : 1;
	uint32_t last = passage->last + LINES_AFTER;
	size_t bytes = 0;

	if (last - first >= PASSAGE_LINES_MAX)
		last = first + PASSAGE_LINES_MAX - 1;
	open_source(source, run->options, passage->file);
	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "frame", gg_page_frame_of(&run->names, passage->function));
	gg_json_text(json, "file", passage->file);
	gg_json_integer(json, "first", first);
	gg_json_text(json, "problem", source->problem);
	if (source->problem == NULL)
		bytes = write_lines(&source->text, first, last, json);
	gg_json_close(json);
	return bytes;
}

int gg_page_source_write(struct gg_page_run *run, struct gg_json *json)
{
	struct source_text source = { 0 };
	struct passage *passages;
	size_t count, bytes = 0;

	if (!run->options->with_source) {
		gg_json_text(json, "source", NULL);
		return 0;
	}
	passages = find_passages(run, &count);
	if (passages == NULL)
		return gg_page_out_of_memory(run);
	gg_json_open(json, "source", '[');
	for (size_t i = 0; i < count && i < PASSAGES_MAX && bytes < SOURCE_BYTES_MAX; i++)
		bytes += write_passage(run, &passages[i], &source, json);
	gg_json_close(json);
	gg_buf_done(&source.text);
	free(passages);
	return 0;
}
