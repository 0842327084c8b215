/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger - a libgeiger for tests of adapters: every allocation is a sample, and what is live is
 * kept exactly, with its frames and type, where a test can look.
 *
 * It defines the functions of geiger.h that adapters call; a test links it instead of the library.
 */
#pragma once

#include <geiger/geiger.h>

enum { LEDGER_FRAMES_KEPT = 12, LEDGER_TEXT_MAX = 48 };

struct ledger_frame {
	char function[LEDGER_TEXT_MAX], file[LEDGER_TEXT_MAX];
	uint32_t line;
};

struct ledger_block {
	struct ledger_block *next;
	const void *object;
	size_t bytes;
	uint32_t heap, flags;
	char type[LEDGER_TEXT_MAX];
	size_t frame_count;
	struct ledger_frame frames[LEDGER_FRAMES_KEPT]; /* the innermost, innermost first */
};

/* Counts since ledger_reset(). */
struct ledger {
	size_t live_bytes, live_count;
	size_t taken_bytes, taken_count; /* of all samples */
	size_t freed_count;
	size_t reused_count; /* recorded where one was live in the same heap: its free was missed */
};

void ledger_reset(void);
struct ledger ledger_read(void);

/* Calls `see` with each live block. */
void ledger_each(void (*see)(void *user, const struct ledger_block *block), void *user);

/* How many blocks of that type were recorded; NULL: blocks without one. */
size_t ledger_type_count(const char *type);
