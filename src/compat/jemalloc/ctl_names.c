/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_names - searches the sorted table part by part. */
#include "compat/jemalloc/ctl_names.h"

#include <string.h>

#include "base/assert.h"

/* The entries from `first` to before `end`, whose first `depth` parts are equal. */
struct name_range {
	size_t first, end, depth;
};

struct name_part {
	const char *at;
	size_t length;
};

static const struct gg_ctl_name *entry(const struct gg_ctl_names *names, size_t i)
{
	return (const struct gg_ctl_name *)((const char *)names->entries + i * names->entry_bytes);
}

/* Returns a name's part by its number from 0 on; its length is 0 if the name has fewer parts. */
static struct name_part part_of(const char *name, size_t number)
{
	struct name_part part = { name, strcspn(name, ".") };

	for (; number > 0; number--) {
		if (part.at[part.length] == '\0')
			return (struct name_part){ part.at + part.length, 0 };
		part.at += part.length + 1;
		part.length = strcspn(part.at, ".");
	}
	return part;
}

static bool is_same(const struct name_part *a, const struct name_part *b)
{
	return a->length == b->length && a->length != 0 && memcmp(a->at, b->at, a->length) == 0;
}

/* True if the next part of these entries is a number. */
static bool is_number(const struct gg_ctl_names *names, const struct name_range *group)
{
	struct name_part part = part_of(entry(names, group->first)->name, group->depth);

	return part.length == 1 && *part.at == '*';
}

static bool has_number(const struct gg_ctl_names *names, const struct name_range *group,
                       size_t number)
{
	const struct gg_ctl_name *first = entry(names, group->first);

	return first->count != NULL && number < first->count();
}

/*
 * Narrows the range to the entries with that next part.  False: no name matches.  The table is
 * sorted, so these entries stand together.
 */
static bool narrow(const struct gg_ctl_names *names, struct name_range *group,
                   const struct name_part *part)
{
	struct name_range inner = { group->end, group->end, group->depth + 1 };

	for (size_t i = group->first; i < group->end; i++) {
		struct name_part other = part_of(entry(names, i)->name, group->depth);

		if (!is_same(&other, part))
			continue;
		if (inner.first == group->end)
			inner.first = i;
		/* The table is sorted, so no other part stands in between. */
		gg_assert(inner.end == i || inner.first == i);
		inner.end = i + 1;
	}
	if (inner.first == group->end)
		return false;
	*group = inner;
	return true;
}

/* Reads decimal digits up to the first other character. */
static bool read_number(const struct name_part *part, size_t *ret_number)
{
	size_t number = 0, i = 0;

	for (; i < part->length && part->at[i] >= '0' && part->at[i] <= '9'; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (size_t)(part->at[i] - '0'), &number))
			return false;
	*ret_number = number;
	return i > 0;
}

/*
 * Returns the entry that consists of exactly these parts.  A shorter name sorts before the names
 * that begin with it, so it can only be the first one of the range.
 */
static int whole(const struct gg_ctl_names *names, const struct name_range *group)
{
	if (part_of(entry(names, group->first)->name, group->depth).length != 0)
		return GG_CTL_NAMES_NONE;
	return (int)group->first;
}

int gg_ctl_names_find(const struct gg_ctl_names *names, const char *name, size_t *mib,
                      size_t *depth, bool *ret_is_known)
{
	struct name_range group = { 0, names->count, 0 };
	bool ends = false;

	gg_assert(names->count > 0);
	*ret_is_known = false;
	if (name[0] == '\0' || name[0] == '.')
		return GG_CTL_NAMES_NONE;
	/* Each step consumes one part of the name, and writes one number. */
	while (group.depth < *depth && !ends) {
		struct name_part part = { name, strcspn(name, ".") };
		size_t number = 0;

		if (is_number(names, &group)) {
			if (!read_number(&part, &number) || !has_number(names, &group, number))
				return GG_CTL_NAMES_NONE;
			mib[group.depth++] = number;
		} else {
			if (!narrow(names, &group, &part))
				return GG_CTL_NAMES_NONE;
			mib[group.depth - 1] = group.first +
			                       (group.depth == 1 ? GG_CTL_NAMES_TAG : 0);
		}
		ends = name[part.length] == '\0';
		name += part.length + !ends;
	}
	*depth = ends ? group.depth : *depth;
	*ret_is_known = true;
	return ends ? whole(names, &group) : GG_CTL_NAMES_NONE;
}

int gg_ctl_names_of(const struct gg_ctl_names *names, const size_t *mib, size_t depth)
{
	struct name_range group = { 0, names->count, 0 };

	for (size_t i = 0; i < depth; i++) {
		/* Without the tag, the subtraction wraps around to a number beyond every range. */
		size_t number = mib[i] - (i == 0 ? GG_CTL_NAMES_TAG : 0);
		struct name_part part;

		if (is_number(names, &group)) {
			if (!has_number(names, &group, number))
				return GG_CTL_NAMES_NONE;
			group.depth++;
			continue;
		}
		if (number < group.first || number >= group.end)
			return GG_CTL_NAMES_NONE;
		/*
		 * A part's number is the first entry with it; any other entry is not a valid one.
		 */
		part = part_of(entry(names, number)->name, i);
		if (!narrow(names, &group, &part) || group.first != number)
			return GG_CTL_NAMES_NONE;
	}
	return depth > 0 ? whole(names, &group) : GG_CTL_NAMES_NONE;
}
