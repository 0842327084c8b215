/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_code - recognizes functions that start programs and threads.
 *
 * They are the outermost frames of nearly all stacks, so their totals are everything, and nobody
 * can act on them.
 */
#include <string.h>

#include "base/compiler.h"
#include "symbol/symbol.h"

static const char *const names[] = {
	"_start",
	"_dl_start_user",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_call_main",
	"generic_start_main",
	"start_thread",
	"thread_start",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
};

/* Functions of Rust's runtime between _start and main; closures have suffixes. */
static const char *const beginnings[] = {
	"std::rt::lang_start",
	"std::sys::backtrace::__rust_begin_short_backtrace",
	"std::sys_common::backtrace::__rust_begin_short_backtrace",
};

bool gg_symbol_is_start_code(const char *function)
{
	size_t length = strcspn(function, "@"); /* without a version such as @@GLIBC_2.34 */

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (strlen(names[i]) == length && strncmp(names[i], function, length) == 0)
			return true;
	for (size_t i = 0; i < GG_COUNT(beginnings); i++)
		if (strncmp(beginnings[i], function, strlen(beginnings[i])) == 0)
			return true;
	return false;
}
