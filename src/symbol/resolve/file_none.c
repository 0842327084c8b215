/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_none - replaces file.c in builds without elfutils.
 */
#include "symbol/resolve/file.h"

enum gg_symbol_status gg_file_resolve(const struct gg_worker_task *task,
                                      struct gg_module_symbols *answers, struct gg_buf *advice,
                                      bool *ret_is_complete)
{
	(void)answers;
	*ret_is_complete = false;
	gg_buf_printf(advice, "%s was not read: this geiger was built without elfutils",
	              task->module->path);
	return GG_SYMBOL_UNREADABLE;
}
