/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen_hook - makes the thread's next allocation look for the slots of new modules.
 *
 * The hook ends in a jump, so the real dlopen() sees the program as its caller, whose search path
 * counts.
 */
#pragma once

void *gg_attach_dlopen(const char *file, int mode);

/* Set before any slot leads to the hook. */
extern void *(*gg_attach_real_dlopen)(const char *file, int mode);
