/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_types - the types of Python objects, found by looking at their memory.
 *
 * A block of the domain obj mostly is an object, behind heads that its type asks for (those of the
 * collector, and of attributes).  Its type is written right after the allocation, before any other
 * one.  Some blocks are no objects, such as tables of dictionaries.  So the answer is believed only
 * if everything fits:
 *
 *   - the word where the type belongs points to an object whose own type is `type`, or a metaclass,
 *   - that type's flags ask for exactly the heads that lie before the object, and
 *   - its size is that of the block.
 *
 * The module keeps its findings on types that are static data of the interpreter itself: these
 * types do not change, and are never freed.
 *
 * This module reads all memory by process_vm_readv(), so a wrong address is harmless.  If a filter
 * answers that call with an error, no object has a type.  A filter may also end the process for it,
 * so callers ask the agent first whether the program enters a sandbox
 * (gg_agent_functions.is_sandboxed).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interpreter.h"

/*
 * Copies the name of the type of the object in that block.  It returns false if nothing shows that
 * the block has an object.  The caller lets one thread in at a time.
 */
bool gg_python_object_type(const struct gg_python *python, const void *block, size_t block_bytes,
                           char *name, size_t name_bytes);
