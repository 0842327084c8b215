/* SPDX-License-Identifier: Apache-2.0 */
/* mallctl - passes a name to the function that answers it, here or in the jemalloc underneath. */
#include "compat/jemalloc/mallctl.h"

#include <errno.h>

#include "compat/compat_settings.h"
#include "compat/jemalloc/ctl_table.h"
#include "compat/jemalloc/next_mallctl.h"

/* Returns the jemalloc underneath if it answers this name.  NULL: geiger answers. */
static const struct gg_next_mallctl_calls *theirs(const struct gg_ctl_entry *entry)
{
	const struct gg_next_mallctl_calls *real = gg_next_mallctl_calls();

	if (real == NULL || entry->kind == GG_CTL_ENTRY_ALLOCATOR)
		return real;
	return gg_compat_settings()->is_theirs ? real : NULL;
}

int mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes)
{
	size_t mib[GG_CTL_NAMES_DEPTH], depth = GG_CTL_NAMES_DEPTH;
	const struct gg_ctl_call call = { mib, old, old_bytes, new, new_bytes };
	const struct gg_next_mallctl_calls *real;
	bool is_known;
	int entry = gg_ctl_names_find(&gg_ctl_table_names, name, mib, &depth, &is_known);

	real = entry < 0 ? gg_next_mallctl_calls() : theirs(gg_ctl_table_at(entry));
	if (real != NULL)
		return real->mallctl(name, old, old_bytes, new, new_bytes);
	return entry < 0 ? ENOENT : gg_ctl_table_at(entry)->answer(&call);
}

int mallctlnametomib(const char *name, size_t *mib, size_t *depth)
{
	size_t ours[GG_CTL_NAMES_DEPTH],
		ours_depth = *depth < GG_CTL_NAMES_DEPTH ? *depth : GG_CTL_NAMES_DEPTH;
	const struct gg_next_mallctl_calls *real;
	bool is_known;
	int entry = gg_ctl_names_find(&gg_ctl_table_names, name, ours, &ours_depth, &is_known);

	/*
	 * The first parts of one of our names, such as "prof.stats", may begin a name that only
	 * jemalloc has.  So jemalloc resolves incomplete names.
	 */
	real = entry < 0 ? gg_next_mallctl_calls() : theirs(gg_ctl_table_at(entry));
	if (real != NULL)
		return real->nametomib(name, mib, depth);
	if (!is_known)
		return ENOENT;
	for (size_t i = 0; i < ours_depth; i++)
		mib[i] = ours[i];
	*depth = ours_depth;
	return 0;
}

int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_bytes, void *new,
                 size_t new_bytes)
{
	const struct gg_ctl_call call = { mib, old, old_bytes, new, new_bytes };
	const struct gg_next_mallctl_calls *real = gg_next_mallctl_calls();
	int entry;

	/* Only MIBs that mallctlnametomib() made here have the tag. */
	if (real != NULL && (depth == 0 || mib[0] < GG_CTL_NAMES_TAG))
		return real->bymib(mib, depth, old, old_bytes, new, new_bytes);
	entry = gg_ctl_names_of(&gg_ctl_table_names, mib, depth);
	return entry < 0 ? ENOENT : gg_ctl_table_at(entry)->answer(&call);
}
