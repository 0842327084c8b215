/* SPDX-License-Identifier: Apache-2.0 */
/*
 * musl - lets the agent be compiled against the headers of musl.
 *
 *   musl-gcc -include abi/musl.h -DGG_MUSL ...
 *
 * musl's loader has the list of <link.h> as well, but names its head differently, and its headers
 * lack some declarations of glibc's.  The agent defines functions that musl lacks, so that it
 * exports the same names; no program of musl calls them.
 */
#pragma once

#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

extern struct r_debug *_dl_debug_addr; /* of musl's loader */
#define _r_debug (*_dl_debug_addr)

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* <linux/futex.h> is not among musl's headers; these are the kernel's numbers. */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

/* musl has the other strerror_r() of the two. */
static inline char *gg_musl_strerror(int errno_value, char *text, size_t bytes)
{
	if (strerror_r(errno_value, text, bytes) != 0 && bytes > 0)
		text[0] = '\0';
	return text;
}
#define strerror_r gg_musl_strerror

#undef mmap64 /* the agent exports both names */

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *pvalloc(size_t bytes);
void (*ssignal(int signal, void (*handler)(int)))(int);
void (*sysv_signal(int signal, void (*handler)(int)))(int);
