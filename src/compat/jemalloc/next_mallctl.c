/* SPDX-License-Identifier: Apache-2.0 */
/* next_mallctl - looks the three functions up once, and remembers them. */
#include "compat/jemalloc/next_mallctl.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"

enum { NEXT_UNKNOWN, NEXT_ABSENT, NEXT_FOUND };

static struct gg_next_mallctl_calls calls;
static uint32_t state;

static void look_up(void)
{
	/*
	 * Two threads may come here at once.  They find the same functions, so no lock is needed.
	 */
	struct gg_next_mallctl_calls found = { NULL, NULL, NULL };
	void *symbols[] = { dlsym(RTLD_NEXT, "mallctl"), dlsym(RTLD_NEXT, "mallctlnametomib"),
		            dlsym(RTLD_NEXT, "mallctlbymib") };
	bool all = symbols[0] != NULL && symbols[1] != NULL && symbols[2] != NULL;

	memcpy(&found.mallctl, &symbols[0], sizeof(symbols[0]));
	memcpy(&found.nametomib, &symbols[1], sizeof(symbols[1]));
	memcpy(&found.bymib, &symbols[2], sizeof(symbols[2]));
	if (all)
		calls = found;
	/* Release: a thread that sees the state sees the functions. */
	gg_store_release(&state, all ? NEXT_FOUND : NEXT_ABSENT);
}

const struct gg_next_mallctl_calls *gg_next_mallctl_calls(void)
{
	/* Acquire: pairs with the release above. */
	if (gg_load_acquire(&state) == NEXT_UNKNOWN)
		look_up();
	return gg_load_acquire(&state) == NEXT_FOUND ? &calls : NULL;
}

bool gg_next_mallctl_profiles(void)
{
	const struct gg_next_mallctl_calls *real = gg_next_mallctl_calls();
	bool profiles = false;
	size_t bytes = sizeof(profiles);

	return real != NULL && real->mallctl("opt.prof", &profiles, &bytes, NULL, 0) == 0 &&
	       profiles;
}
