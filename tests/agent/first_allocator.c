/* SPDX-License-Identifier: Apache-2.0 */
/* first_allocator - a library before libgeiger-malloc.so whose allocator is libc's own. */
#include <stddef.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void __libc_free(void *p);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *p, size_t bytes);
void free(void *p);

void *malloc(size_t bytes)
{
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return __libc_calloc(count, bytes);
}

void *realloc(void *p, size_t bytes)
{
	return __libc_realloc(p, bytes);
}

void free(void *p)
{
	__libc_free(p);
}
