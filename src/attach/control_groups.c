/* SPDX-License-Identifier: Apache-2.0 */
/* control_groups - parses mountinfo and /proc/PID/cgroup (attach/control_groups.h). */
#include "attach/control_groups.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

/* --- words --- */

struct mount_word {
	const char *text;
	size_t length;
};

/* Takes the next word of a line. */
static struct mount_word next_word(const char **line)
{
	struct mount_word word = { .text = *line + strspn(*line, " ") };

	word.length = strcspn(word.text, " \n");
	*line = word.text + word.length;
	return word;
}

static bool is_word(struct mount_word word, const char *text)
{
	return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

/* True if a list such as "rw,freezer" has the name. */
static bool has_name(struct mount_word list, const char *name)
{
	const char *end = list.text + list.length;

	for (const char *at = list.text; at < end; at += *at == ',') {
		struct mount_word item = { at, strcspn(at, ", \n:") };

		if (is_word(item, name))
			return true;
		at += item.length;
		if (*at != ',')
			break;
	}
	return false;
}

/* Appends a path of mountinfo, where blanks and backslashes are octal numbers. */
static void append_path(struct gg_buf *out, struct mount_word path)
{
	for (size_t i = 0; i < path.length; i++) {
		char byte = path.text[i];

		if (byte == '\\' && i + 3 < path.length) {
			byte = (char)((path.text[i + 1] - '0') * 64 + (path.text[i + 2] - '0') * 8 +
			              (path.text[i + 3] - '0'));
			i += 3;
		}
		gg_buf_append(out, &byte, 1);
	}
}

/* --- mounts --- */

struct mount {
	struct mount_word root, point; /* what of the hierarchy is mounted, and where */
	struct mount_word type, options;
};

/* Parses a line: "36 35 98:0 /root /point rw,noatime master:1 - type source rw,options". */
static bool parse_mount(struct mount *mount, const char *line)
{
	struct mount_word word;

	for (int i = 0; i < 3; i++)
		next_word(&line);
	mount->root = next_word(&line);
	mount->point = next_word(&line);
	do
		word = next_word(&line);
	while (word.length > 0 && !is_word(word, "-"));
	mount->type = next_word(&line);
	next_word(&line);
	mount->options = next_word(&line);
	return mount->options.length > 0;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* Writes the directory of a group below this mount.  False: the group is not below it. */
static bool name_below(struct gg_buf *directory, const struct mount *mount, const char *path)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf root = { 0 };

	append_path(&root, mount->root);
	/* A path with ".." leads out of the part of the hierarchy that is visible here. */
	if (root.failed || strstr(path, "/..") != NULL)
		return false;
	if (strcmp(gg_buf_text(&root), "/") != 0) {
		if (strncmp(path, root.data, root.length) != 0 ||
		    (path[root.length] != '/' && path[root.length] != '\0'))
			return false;
		path += root.length;
	}
	gg_buf_clear(directory);
	append_path(directory, mount->point);
	if (strcmp(path, "/") != 0)
		gg_buf_append_text(directory, path);
	return !directory->failed;
}

static bool is_wanted(const struct mount *mount, const char *controller)
{
	if (controller == NULL)
		return is_word(mount->type, "cgroup2");
	return is_word(mount->type, "cgroup") && has_name(mount->options, controller);
}

bool gg_control_groups_find(struct gg_buf *directory, const char *mounts, const char *controller,
                            const char *path)
{
	struct mount mount;

	for (const char *line = mounts; *line != '\0'; line = next_line(line))
		if (parse_mount(&mount, line) && is_wanted(&mount, controller) &&
		    name_below(directory, &mount, path))
			return true;
	return false;
}

/* --- any hierarchy --- */

static bool is_group(const char *directory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

	gg_buf_printf(&path, "%s/cgroup.procs", directory);
	return !path.failed && access(path.data, F_OK) == 0;
}

bool gg_control_groups_find_any(struct gg_buf *directory, const char *mounts, const char *path)
{
	static const char *const types[] = { "cgroup2", "cgroup" };
	struct mount mount;

	for (size_t i = 0; i < GG_COUNT(types); i++)
		for (const char *line = mounts; *line != '\0'; line = next_line(line))
			if (parse_mount(&mount, line) && is_word(mount.type, types[i]) &&
			    name_below(directory, &mount, path) && is_group(gg_buf_text(directory)))
				return true;
	gg_buf_clear(directory);
	return false;
}

/* --- memberships --- */

/* True if a line "6:freezer,devices:/path" is of the controller, whose names end at `path`. */
static bool is_membership(const char *line, const char *path, const char *controller)
{
	struct mount_word names = { .text = strchr(line, ':') + 1 };

	names.length = (size_t)(path - names.text);
	return controller == NULL ? strncmp(line, "0::", 3) == 0 : has_name(names, controller);
}

bool gg_control_groups_path(struct gg_buf *path, const char *memberships, const char *controller)
{
	for (const char *line = memberships; *line != '\0'; line = next_line(line)) {
		const char *names = strchr(line, ':'), *group;

		group = names != NULL ? strchr(names + 1, ':') : NULL;
		if (group == NULL)
			return false;
		if (!is_membership(line, group, controller))
			continue;
		gg_buf_clear(path);
		gg_buf_append(path, group + 1, strcspn(group + 1, "\n"));
		return !path->failed;
	}
	return false;
}
