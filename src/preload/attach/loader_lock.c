/* SPDX-License-Identifier: Apache-2.0 */
/* loader_lock - calls back from within dl_iterate_phdr(). */
#include "preload/attach/loader_lock.h"

#include <link.h>

struct call {
	void (*function)(void *context);
	void *context;
};

static int call_first(struct dl_phdr_info *info, size_t bytes, void *context)
{
	const struct call *call = context;

	(void)info;
	(void)bytes;
	call->function(call->context);
	return 1; /* no further module */
}

void gg_loader_lock_call(void (*function)(void *context), void *context)
{
	struct call call = { function, context };

	dl_iterate_phdr(call_first, &call);
}
