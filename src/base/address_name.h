/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_name - the name of code that no symbol names: "git+0x289600", a file and an address.
 *
 *   gg_address_name_append("/usr/bin/git", 0x289600, &text);         "git+0x289600"
 *   gg_address_name_is("git+0x289600", "/usr/bin/git")               true
 *
 * The address is the first one of the function if .eh_frame tells it, else that of the call.  It is
 * the address for which the file was linked, so it is the same in every run of a build.  A profile
 * stores such a name like any other name; this module tells them apart when the profile is read.
 *
 * Threads  any: the functions have no state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends the name for an address of the file at a path.  The name has neither folders nor the
 * " (deleted)" of the kernel.  A path that is NULL or empty gives "0x289600".
 */
void gg_address_name_append(const char *path, uint64_t address, struct gg_buf *out);

/*
 * True if the text is what gg_address_name_append() makes of the path and any address.  With NULL
 * as the path, any text before "+0x" will do.
 */
bool gg_address_name_is(const char *text, const char *path);
