/* SPDX-License-Identifier: Apache-2.0 */
/* dump_text - parses dumps line by line, and adds up their rows. */
#include "agent/dump_text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse(const char *at, struct dump_text_amount *ret)
{
	return sscanf(at, "%" SCNu64 ": %" SCNu64 " [%" SCNu64 ": %" SCNu64 "]", &ret->live_count,
	              &ret->live_bytes, &ret->count, &ret->bytes) == 4;
}

static void add(struct dump_text_amount *to, const struct dump_text_amount *more)
{
	to->live_count += more->live_count;
	to->live_bytes += more->live_bytes;
	to->count += more->count;
	to->bytes += more->bytes;
}

/* A line of a thread: "  t3: 1: 2 [3: 4] name", in the head alone. */
static void read_thread(const char *line, struct dump_text *text)
{
	struct dump_text_amount amount;
	const char *colon = strchr(line, ':'), *name = strchr(line, ']');

	if (colon == NULL || name == NULL || !parse(colon + 1, &amount))
		return;
	add(&text->threads, &amount);
	text->thread_count++;
	snprintf(text->names + strlen(text->names), sizeof(text->names) - strlen(text->names),
	         "%s;", name[1] == ' ' ? name + 2 : "");
}

static void read_line(const char *line, struct dump_text *text, bool *is_head)
{
	struct dump_text_amount amount;
	bool is_total = strncmp(line, "  t*: ", 6) == 0;

	if (strncmp(line, "heap_v2/", 8) == 0) {
		text->interval_bytes = strtoull(line + 8, NULL, 10);
	} else if (strncmp(line, "heap profile:", 13) == 0) {
		parse(line + 13, &text->total);
		*is_head = false;
	} else if (is_total && parse(line + 6, &amount)) {
		if (*is_head && text->total.count == 0 && text->stack_count == 0)
			text->total = amount;
		else
			add(&text->stacks, &amount);
	} else if (strncmp(line, "  t", 3) == 0) {
		if (*is_head)
			read_thread(line, text);
	} else if (line[0] == '@') {
		*is_head = false;
		text->stack_count++;
	} else if (strstr(line, "] @ 0x") != NULL && parse(line, &amount)) {
		add(&text->stacks, &amount);
		text->stack_count++;
	}
}

bool dump_text_read(const char *path, struct dump_text *ret_text)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t capacity = 0;
	bool is_head = true, has_maps = false, ends = false, has_stack_area = false;
	ssize_t length;

	*ret_text = (struct dump_text){ 0 };
	if (file == NULL)
		return false;
	while ((length = getline(&line, &capacity, file)) > 0) {
		ends = line[length - 1] == '\n';
		if (ends)
			line[length - 1] = '\0';
		if (strcmp(line, "MAPPED_LIBRARIES:") == 0)
			has_maps = true;
		else if (has_maps)
			has_stack_area |= strstr(line, "[stack]") != NULL;
		else
			read_line(line, ret_text, &is_head);
	}
	/* The last mapping but those of the kernel is the stack. */
	ret_text->is_whole = ends && has_stack_area;
	free(line);
	fclose(file);
	return true;
}

static bool is_dump(const char *name, const char *kind)
{
	size_t length = strlen(name);
	char part[16];

	snprintf(part, sizeof(part), ".%s", kind);
	return length > 5 && strcmp(name + length - 5, ".heap") == 0 &&
	       (*kind == '\0' || strstr(name, part) != NULL);
}

unsigned dump_text_count(const char *directory, const char *kind, char ret_path[600])
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	unsigned count = 0;

	ret_path[0] = '\0';
	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (!is_dump(entry->d_name, kind))
			continue;
		count++;
		snprintf(ret_path, 600, "%.300s/%.255s", directory, entry->d_name);
	}
	if (d != NULL)
		closedir(d);
	return count;
}

unsigned dump_text_strangers(const char *directory)
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	unsigned count = 0;

	while (d != NULL && (entry = readdir(d)) != NULL)
		count += entry->d_name[0] != '.' && !is_dump(entry->d_name, "") &&
		         strstr(entry->d_name, ".region") == NULL;
	if (d != NULL)
		closedir(d);
	return count;
}
