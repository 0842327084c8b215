/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer - looks for a runtime in the loader's list, from the resolver of an indirect function.
 */
#include "runtime/platform/sanitizer.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

enum { LIBRARY_NAME_MAX_BYTES = 4096 };

static const char *runtime; /* points into the loader's list; NULL: no sanitizer is loaded */
static char our_name[LIBRARY_NAME_MAX_BYTES];

/* This file calls no strlen() or strstr(): the loader would bind them to the sanitizer's. */
static bool begins_with(const char *text, const char *start)
{
	while (*start != '\0' && *text == *start) {
		text++;
		start++;
	}
	return *start == '\0';
}

static const char *file_of(const char *path)
{
	const char *file = path;

	for (; *path != '\0'; path++)
		if (*path == '/')
			file = path + 1;
	return file;
}

static bool is_runtime(const char *file)
{
	static const char *const names[] = {
		"libasan.so",       "libtsan.so",       "libhwasan.so",
		"libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan",
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (begins_with(file, names[i]))
			return true;
	return false;
}

/* Renames this library to "PATH (before libasan.so)": the check only looks for that file name
 * somewhere in the name of the first library. */
static void rename_us(void)
{
	static const char suffix[] = " (before libasan.so)";
	struct link_map *map = _r_debug.r_map;
	volatile char *to = our_name; /* volatile keeps the compiler from calling memcpy() */
	size_t at = 0;

	while (map != NULL && map->l_ld != _DYNAMIC)
		map = map->l_next;
	if (map == NULL || map->l_name == NULL)
		return;
	for (; map->l_name[at] != '\0'; at++) {
		if (at + sizeof(suffix) >= sizeof(our_name))
			return;
		to[at] = map->l_name[at];
	}
	for (size_t i = 0; i < sizeof(suffix); i++)
		to[at + i] = suffix[i];
	map->l_name = our_name;
}

static void find_runtime(void)
{
	for (const struct link_map *map = _r_debug.r_map; map != NULL && runtime == NULL;
	     map = map->l_next)
		if (map->l_name != NULL && is_runtime(file_of(map->l_name)))
			runtime = file_of(map->l_name);
	if (runtime != NULL)
		rename_us();
}

#ifdef GG_MUSL
/* musl's loader has no indirect functions.  The constructor is early enough there. */
const char *gg_sanitizer_runtime(void)
{
	if (runtime == NULL)
		find_runtime();
	return runtime;
}
#else
static void nothing(void)
{
}

typedef void function(void);

/*
 * The loader calls this resolver once it has relocated this library's data.  clang does not see
 * that an alias refers to it, hence `used`.
 */
__attribute__((used)) static function *resolve(void)
{
	find_runtime();
	return nothing;
}

static void relocated(void) __attribute__((ifunc("resolve")));

/* This reference makes the loader resolve the function; nothing calls it.  It is volatile and read
 * below, so that the linker keeps it. */
static function *const volatile relocated_pointer = relocated;

const char *gg_sanitizer_runtime(void)
{
	return relocated_pointer != NULL ? runtime : NULL;
}
#endif
