/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites - a program of twenty call sites that knows what each of them allocated.
 *
 * A site's code is a section of its own, so that its addresses are known without debug information:
 * what it allocates there, and nothing else, is its.  At the end the program prints for each site
 *
 *   site NAME MODULE FROM TO LIVE_BYTES LIVE_COUNT ALLOCATED_BYTES ALLOCATED_COUNT
 *
 * MODULE is the file's name without folders, FROM and TO are addresses in it.  When two
 * blocks are there, the second one is freed at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct site {
	const char *name;
	const void *from, *to; /* its code, as loaded */
	size_t size_bytes;
	unsigned count; /* blocks in all; even */
	void *(*allocate)(size_t size_bytes);
	void (*release)(void *block); /* NULL: free() */
};

/* Code in a section of its own; the linker knows where it begins and ends. */
#define SITE_CODE(name)  __attribute__((section("code_" #name), noinline, used))
#define SITE_RANGE(name) extern const char __start_code_##name[], __stop_code_##name[]
/* A call of its own that nothing is moved out of, nor jumped to. */
#define SITE_KEEP(block) __asm__ volatile("" : "+r"(block) : : "memory")

extern const struct site sites_cxx[];
extern const unsigned sites_cxx_count;
/* The functions of the plugin, under these names for dlsym(). */

#ifdef __cplusplus
}
#endif
