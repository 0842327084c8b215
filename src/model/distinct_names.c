/* SPDX-License-Identifier: Apache-2.0 */
#include "model/distinct_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/brackets.h"
#include "base/path.h"

/*
 * The forms of a name, in the order in which they are tried: without arguments; with template
 * arguments; with the call's arguments as well, each first with nested template arguments down to
 * some depth, then whole; the full name.
 */
enum { DEPTH_WHOLE = 4, FORM_SHORT = 0, FORM_FULL = 2 * DEPTH_WHOLE + 1 };

/* Full names whose return type has more words than this are not split into pieces. */
enum { STARTS_MAX = 64 };

static const char elided[] = "<...>";

/* A piece of the full name that the short name leaves out. */
struct name_piece {
	const char *text;
	size_t length;
	size_t at; /* its position in the short name */
	bool is_template;
};

/* The pieces that all names have at one position. */
struct piece_slot {
	size_t at, name_count;
	bool is_template, differs;
	const char *text; /* the piece of the first name */
	size_t length;
};

struct name_group {
	const char *short_name;
	struct gg_distinct_name *names;
	size_t count;
	struct gg_buf pieces; /* struct name_piece, name after name */
	size_t *piece_ends;   /* by name: where its pieces end */
	bool *is_taken_apart; /* by name: its pieces are known */
	struct gg_buf slots;  /* struct piece_slot */
	struct gg_buf *texts; /* by name: the form that is being tried */
	uint32_t *order;      /* the names sorted by these texts */
	bool *is_settled;     /* by name: its text is final */
};

/* --- splitting full names ----------------------------------------------------------------- */

static void add_piece(struct name_group *group, const char *from, const char *to, size_t at,
                      bool is_template)
{
	struct name_piece piece = { from, (size_t)(to - from), at, is_template };

	gg_buf_append(&group->pieces, &piece, sizeof(piece));
}

/* True if this can follow the end of the short name in a full name. */
static bool is_tail(const char *text)
{
	return text[0] == '\0' || text[0] == '(' || text[0] == '[' || text[0] == ' ' ||
	       strncmp(text, "::h", 3) == 0;
}

/* The position after the brackets and the qualifiers that belong to them. */
static const char *behind_arguments(const char *full)
{
	full = gg_behind_brackets(full);
	while (*full == ' ')
		full += 1 + strcspn(full + 1, " :");
	return full;
}

/* Matches the short name against the full one from `full` on.  False: they do not match. */
static bool lay_upon(struct name_group *group, const char *full)
{
	const char *at = group->short_name;

	while (*at != '\0') {
		const char *end;

		if (*full == '<' && strncmp(at, elided, strlen(elided)) == 0) {
			end = gg_behind_brackets(full);
			add_piece(group, full, end, (size_t)(at - group->short_name), true);
			at += strlen(elided);
		} else if (*full == *at) {
			end = full + 1;
			at++;
		} else if (*full == '(' || *full == '[') {
			end = behind_arguments(full);
			add_piece(group, full, end, (size_t)(at - group->short_name), false);
		} else {
			return false;
		}
		full = end;
	}
	if (!is_tail(full))
		return false;
	if (*full != '\0')
		add_piece(group, full, full + strlen(full), (size_t)(at - group->short_name),
		          false);
	return true;
}

/* The start of the next word, after a blank outside brackets; NULL: no further word. */
static const char *next_word(const char *full)
{
	while (*full != '\0' && *full != ' ')
		full = strchr("(<[{", *full) != NULL ? gg_behind_brackets(full) : full + 1;
	return *full == ' ' ? full + 1 : NULL;
}

static void take_apart(struct name_group *group, size_t number)
{
	const char *full = group->names[number].full_name;
	size_t start = group->pieces.length;
	bool fits = false;

	for (unsigned i = 0; i < STARTS_MAX && full != NULL && !fits; i++) {
		group->pieces.length = start;
		fits = lay_upon(group, full);
		full = next_word(full);
	}
	if (!fits)
		group->pieces.length = start;
	group->is_taken_apart[number] = fits;
	group->piece_ends[number] = group->pieces.length / sizeof(struct name_piece);
}

static const struct name_piece *pieces_of(const struct name_group *group, size_t number,
                                          size_t *ret_count)
{
	size_t start = number > 0 ? group->piece_ends[number - 1] : 0;

	*ret_count = group->piece_ends[number] - start;
	return (const struct name_piece *)(const void *)group->pieces.data + start;
}

static struct piece_slot *slot_of(const struct name_group *group, const struct name_piece *piece)
{
	struct piece_slot *slots = (struct piece_slot *)(void *)group->slots.data;
	size_t count = group->slots.length / sizeof(*slots);

	for (size_t i = 0; i < count; i++)
		if (slots[i].at == piece->at && slots[i].is_template == piece->is_template)
			return &slots[i];
	return NULL;
}

/* Finds the positions whose pieces differ from name to name. */
static void find_differences(struct name_group *group)
{
	size_t name_count = 0;

	for (size_t i = 0; i < group->count; i++) {
		size_t count;
		const struct name_piece *pieces = pieces_of(group, i, &count);

		name_count += group->is_taken_apart[i];
		for (size_t k = 0; k < count && !group->slots.failed; k++) {
			struct piece_slot *slot = slot_of(group, &pieces[k]);
			struct piece_slot first = { pieces[k].at,          1,
				                    pieces[k].is_template, false,
				                    pieces[k].text,        pieces[k].length };

			if (slot == NULL) {
				gg_buf_append(&group->slots, &first, sizeof(first));
				continue;
			}
			slot->name_count++;
			slot->differs |= slot->length != pieces[k].length ||
			                 memcmp(slot->text, pieces[k].text, slot->length) != 0;
		}
	}
	for (size_t i = 0; i < group->slots.length / sizeof(struct piece_slot); i++) {
		struct piece_slot *slot = (struct piece_slot *)(void *)group->slots.data + i;

		slot->differs |= slot->name_count != name_count;
	}
}

/* --- forms -------------------------------------------------------------------------------- */

/* Writes arguments in brackets; template arguments deeper than `depth` become "<...>". */
static void append_arguments(struct gg_buf *out, const char *at, const char *end, unsigned depth)
{
	while (at < end) {
		const char *next = *at == '<' ? gg_behind_brackets(at) : at + 1;

		next = next < end ? next : end;
		if (*at == '<' && depth == 0) {
			gg_buf_append_text(out, elided);
		} else if (*at == '<' && next[-1] == '>') {
			gg_buf_append_text(out, "<");
			append_arguments(out, at + 1, next - 1, depth - 1);
			gg_buf_append_text(out, ">");
		} else if (*at != ' ' || *next != '>') { /* "> >" */
			gg_buf_append(out, at, (size_t)(next - at));
		}
		at = next;
	}
}

/* The depth of template arguments that a form shows; DEPTH_WHOLE: all. */
static unsigned depth_of(unsigned form)
{
	return (form - 1) % DEPTH_WHOLE + 1;
}

static bool is_shown(const struct name_group *group, const struct name_piece *piece, unsigned form)
{
	const struct piece_slot *slot = slot_of(group, piece);

	if (slot == NULL || !slot->differs || form == FORM_SHORT)
		return false;
	return piece->is_template || form > DEPTH_WHOLE;
}

static void write_form(struct name_group *group, size_t number, unsigned form)
{
	struct gg_buf *out = &group->texts[number];
	const char *at = group->short_name;
	size_t count;
	const struct name_piece *pieces = pieces_of(group, number, &count);

	gg_buf_clear(out);
	if (form == FORM_FULL || (form != FORM_SHORT && !group->is_taken_apart[number])) {
		gg_buf_append_text(out, group->names[number].full_name);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *place = group->short_name + pieces[i].at;

		if (!is_shown(group, &pieces[i], form))
			continue;
		gg_buf_append(out, at, (size_t)(place - at));
		if (depth_of(form) == DEPTH_WHOLE)
			gg_buf_append(out, pieces[i].text, pieces[i].length);
		else
			append_arguments(out, pieces[i].text, pieces[i].text + pieces[i].length,
			                 depth_of(form) - !pieces[i].is_template);
		at = place + (pieces[i].is_template ? strlen(elided) : 0);
	}
	gg_buf_append_text(out, at);
}

static int compare_texts(const void *a, const void *b, void *context)
{
	const struct name_group *group = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return strcmp(gg_buf_text(&group->texts[left]), gg_buf_text(&group->texts[right]));
}

/* Fixes the names whose text no other full name has.  False: some names are still ambiguous. */
static bool settle(struct name_group *group)
{
	struct gg_buf *texts = group->texts;
	bool all = true;

	for (size_t i = 0; i < group->count; i++)
		group->order[i] = (uint32_t)i;
	qsort_r(group->order, group->count, sizeof(*group->order), compare_texts, group);
	for (size_t from = 0, to; from < group->count; from = to) {
		const char *text = gg_buf_text(&texts[group->order[from]]);
		const char *full = group->names[group->order[from]].full_name;
		bool is_one = true;

		for (to = from;
		     to < group->count && strcmp(gg_buf_text(&texts[group->order[to]]), text) == 0;
		     to++)
			is_one &= group->names[group->order[to]].full_name == full;
		all &= is_one;
		for (size_t i = from; i < to && is_one; i++) {
			uint32_t number = group->order[i];

			if (group->is_settled[number])
				continue;
			group->is_settled[number] = true;
			gg_buf_append_text(&group->names[number].text, text);
		}
	}
	return all;
}

/* --- files -------------------------------------------------------------------------------- */

static int compare_full(const void *a, const void *b, void *context)
{
	const struct name_group *group = context;
	const char *left = group->names[*(const uint32_t *)a].full_name;
	const char *right = group->names[*(const uint32_t *)b].full_name;

	return left == right ? 0 : strcmp(left, right);
}

/* Adds the files to names[order[from..to)], which share one full name. */
static void add_files(struct name_group *group, size_t from, size_t to)
{
	bool is_enough = true;

	for (size_t i = from; i < to && to - from < 256; i++)
		for (size_t k = from; k < i; k++) {
			const char *a = gg_path_base(group->names[group->order[i]].file);
			const char *b = gg_path_base(group->names[group->order[k]].file);

			is_enough &= a == NULL || b == NULL || strcmp(a, b) != 0;
		}
	if (to - from >= 256)
		is_enough = false;
	for (size_t i = from; i < to; i++) {
		struct gg_distinct_name *name = &group->names[group->order[i]];

		if (name->file != NULL)
			gg_buf_printf(&name->text, " [%s]",
			              is_enough ? gg_path_base(name->file) : name->file);
	}
}

static void tell_files_apart(struct name_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		group->order[i] = (uint32_t)i;
	qsort_r(group->order, group->count, sizeof(*group->order), compare_full, group);
	for (size_t from = 0, to; from < group->count; from = to) {
		const char *full = group->names[group->order[from]].full_name;

		for (to = from;
		     to < group->count && group->names[group->order[to]].full_name == full; to++)
			;
		if (to - from > 1)
			add_files(group, from, to);
	}
}

/* --- all ---------------------------------------------------------------------------------- */

static bool has_failed(const struct name_group *group)
{
	bool failed = group->pieces.failed || group->slots.failed;

	for (size_t i = 0; i < group->count; i++)
		failed |= group->texts[i].failed || group->names[i].text.failed;
	return failed;
}

static int find_names(struct name_group *group)
{
	unsigned form = FORM_SHORT;

	for (size_t i = 0; i < group->count; i++)
		take_apart(group, i);
	find_differences(group);
	if (has_failed(group))
		return -ENOMEM;
	do
		for (size_t i = 0; i < group->count; i++)
			write_form(group, i, form);
	while (!has_failed(group) && !settle(group) && form++ < FORM_FULL);
	tell_files_apart(group);
	return has_failed(group) ? -ENOMEM : 0;
}

int gg_distinct_names(const char *short_name, struct gg_distinct_name *names, size_t count)
{
	struct name_group group = { .short_name = short_name,
		                    .names = names,
		                    .count = count,
		                    .piece_ends = calloc(count + 1, sizeof(*group.piece_ends)),
		                    .is_taken_apart = calloc(count + 1, 1),
		                    .texts = calloc(count + 1, sizeof(*group.texts)),
		                    .order = calloc(count + 1, sizeof(*group.order)),
		                    .is_settled = calloc(count + 1, 1) };
	int status = -ENOMEM;

	if (group.piece_ends != NULL && group.is_taken_apart != NULL && group.texts != NULL &&
	    group.order != NULL && group.is_settled != NULL)
		status = find_names(&group);
	for (size_t i = 0; group.texts != NULL && i < count; i++)
		gg_buf_done(&group.texts[i]);
	gg_buf_done(&group.pieces);
	gg_buf_done(&group.slots);
	free(group.piece_ends);
	free(group.is_taken_apart);
	free(group.texts);
	free(group.order);
	free(group.is_settled);
	return status;
}
