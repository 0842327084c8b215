/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forms - lists the ways to allocate and free a block, for tests that run under the agent.
 *
 * They are malloc() and its relatives, all of C++'s operators, and the functions that only some
 * allocators have.  This is compiled into a program or into a library that it loads; forms()
 * returns the forms that exist here.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct form {
	const char *name; /* "allocated by / freed by" */
	void *(*allocate)(size_t bytes);
	void (*release)(void *p, size_t bytes);

	/* NULL: none.  Returns the block; *bytes is its new size and becomes what it has. */
	void *(*resize)(void *p, size_t *bytes);
};

/* Ends with one without a name. */
typedef const struct form *forms_function(void);
const struct form *forms(void);

/* The weak references to functions that the allocator may have; NULL: it has not.  By index, until
 * *ret_name is NULL. */
typedef const void *forms_weak_function(size_t index, const char **ret_name);
const void *forms_weak(size_t index, const char **ret_name);

/* Asks operator new for more than there is; was std::bad_alloc thrown, and caught here? */
typedef int forms_throw_function(size_t bytes);
int forms_throw(size_t bytes);

#ifdef __cplusplus
}
#endif
