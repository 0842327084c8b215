/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppressions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

void gg_suppressions_done(struct gg_suppressions *suppressions)
{
	for (size_t i = 0; i < suppressions->patterns.count; i++)
		free(suppressions->patterns.items[i]);
	gg_array_done(&suppressions->patterns);
	*suppressions = (struct gg_suppressions){ 0 };
}

static int add_pattern(struct gg_suppressions *suppressions, const char *pattern, size_t length)
{
	char *copy = strndup(pattern, length);

	if (copy == NULL || !gg_array_push(&suppressions->patterns, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Parses one line, after the blanks around it are cut off. */
static int parse_line(struct gg_suppressions *suppressions, const char *line, size_t length,
                      const char *place, size_t number, struct gg_error *error)
{
	const char *const type = "leak:";
	size_t type_length = strlen(type);

	if (length == 0 || line[0] == '#')
		return 0;
	if (length <= type_length || strncmp(line, type, type_length) != 0) {
		gg_error_set(error, -EINVAL, NULL, "Write leak:PATTERN, or # and a comment.",
		             "'%.*s' is no suppression of a leak", length < 100 ? (int)length : 100,
		             line);
		gg_error_set_place(error, "%s:%zu", place, number);
		return -EINVAL;
	}
	if (add_pattern(suppressions, line + type_length, length - type_length) < 0)
		return gg_error_memory(error, "suppressions");
	return 0;
}

int gg_suppressions_parse(struct gg_suppressions *ret_suppressions, const char *text,
                          const char *place, struct gg_error *error)
{
	struct gg_suppressions suppressions = { 0 };
	int status = 0;

	for (size_t number = 1; status == 0 && *text != '\0'; number++) {
		size_t length = strcspn(text, "\n"), first = 0, end = length;

		while (first < end && is_blank(text[first]))
			first++;
		while (end > first && is_blank(text[end - 1]))
			end--;
		status = parse_line(&suppressions, text + first, end - first, place, number, error);
		text += length + (text[length] == '\n');
	}
	if (status < 0) {
		gg_suppressions_done(&suppressions);
		return status;
	}
	*ret_suppressions = suppressions;
	return 0;
}

int gg_suppressions_read(struct gg_suppressions *ret_suppressions, const char *path,
                         struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	FILE *file = fopen(path, "re");
	char part[4096];
	size_t length;
	int status = 0;

	if (file == NULL)
		return gg_error_set_errno(error, errno, path, NULL);
	while ((length = fread(part, 1, sizeof(part), file)) > 0)
		gg_buf_append(&text, part, length);
	if (ferror(file))
		status = gg_error_set_errno(error, errno != 0 ? errno : EIO, path, NULL);
	fclose(file);
	if (status < 0)
		return status;
	if (text.failed)
		return gg_error_memory(error, "suppressions");
	if (memchr(gg_buf_text(&text), '\0', text.length) != NULL)
		return gg_error_set(error, -EINVAL, path, "Write leak:PATTERN lines.",
		                    "is no text file");
	return gg_suppressions_parse(ret_suppressions, gg_buf_text(&text), path, error);
}

/* True if the part of the pattern up to its '*' or end matches the name at this position. */
static bool part_is_at(const char *part, size_t length, const char *name)
{
	return strncmp(name, part, length) == 0;
}

bool gg_suppression_matches(const char *pattern, const char *name)
{
	bool anchored = pattern[0] == '^';
	const char *at = name;

	pattern += anchored;
	/* Match each part at the first position, which leaves the most room for the rest. */
	for (;;) {
		size_t length = strcspn(pattern, "*");
		bool is_last = pattern[length] == '\0';
		bool to_end = is_last && length > 0 && pattern[length - 1] == '$';
		size_t text_length = length - to_end, rest;

		if (to_end) { /* '$' fixes the position of the last part */
			rest = strlen(at);
			if (rest < text_length || (anchored && rest != text_length))
				return false;
			return part_is_at(pattern, text_length, at + rest - text_length);
		}
		if (anchored && !part_is_at(pattern, text_length, at))
			return false;
		while (!part_is_at(pattern, text_length, at))
			if (*at++ == '\0')
				return false;
		if (is_last)
			return true;
		at += text_length;
		anchored = false;
		pattern += length + 1;
	}
}

/* 1 + the number of the first pattern that matches one of the names; 0: none does. */
static uint32_t first_match(const struct gg_suppressions *suppressions, const char *const *names,
                            size_t name_count)
{
	for (size_t i = 0; i < suppressions->patterns.count; i++)
		for (size_t k = 0; k < name_count; k++)
			if (names[k] != NULL &&
			    gg_suppression_matches(suppressions->patterns.items[i], names[k]))
				return (uint32_t)i + 1;
	return 0;
}

static void match_functions(const struct gg_suppressions *suppressions,
                            const struct gg_model *model, uint32_t *of_functions)
{
	size_t count = model->function_count;

	for (size_t i = 0; i < count; i++) {
		struct gg_model_function function = model->functions[i];
		const char *names[] = { function.name, function.short_name, function.full_name,
			                function.linkage_name,
			                model->modules[function.module].path };

		of_functions[i] = first_match(suppressions, names, GG_COUNT(names));
	}
}

static void match_lines(const struct gg_suppressions *suppressions, const struct gg_model *model,
                        uint32_t *of_lines)
{
	size_t count = model->line_count;

	for (size_t i = 0; i < count; i++) {
		struct gg_model_line line = model->lines[i];

		of_lines[i] = first_match(suppressions, &line.file, 1);
	}
}

/* A stack matches by its own locations or through its caller, which has a smaller number. */
static void match_stacks(const struct gg_model *model, const uint32_t *of_functions,
                         const uint32_t *of_lines, uint32_t *of_stacks)
{
	size_t stack_count = model->stack_count, count;

	for (size_t i = 0; i < stack_count; i++) {
		uint32_t stack = (uint32_t)i, match;
		const struct gg_code_location *places = gg_model_stack_locations(model, stack,
		                                                                 &count);

		match = i > 0 ? of_stacks[model->stacks[stack].parent] : 0;
		for (size_t k = 0; k < count && match == 0; k++) {
			match = of_functions[places[k].function];
			if (match == 0)
				match = of_lines[places[k].line];
		}
		of_stacks[i] = match;
	}
}

int gg_suppressions_apply(const struct gg_suppressions *suppressions, const struct gg_model *model,
                          uint32_t **ret_of_stacks, struct gg_error *error)
{
	uint32_t *of_functions, *of_lines, *of_stacks;
	int status = 0;

	*ret_of_stacks = NULL;
	if (suppressions == NULL || suppressions->patterns.count == 0)
		return 0;
	of_functions = calloc(model->function_count + 1, sizeof(*of_functions));
	of_lines = calloc(model->line_count + 1, sizeof(*of_lines));
	of_stacks = calloc(model->stack_count + 1, sizeof(*of_stacks));
	if (of_functions == NULL || of_lines == NULL || of_stacks == NULL) {
		status = gg_error_memory(error, "suppressions");
		free(of_stacks);
	} else {
		match_functions(suppressions, model, of_functions);
		match_lines(suppressions, model, of_lines);
		match_stacks(model, of_functions, of_lines, of_stacks);
		*ret_of_stacks = of_stacks;
	}
	free(of_functions);
	free(of_lines);
	return status;
}
