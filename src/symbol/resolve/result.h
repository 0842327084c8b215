/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result - the contents of struct gg_symbols: each module's addresses and, after its worker, its
 * blob.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/resolve/blob.h"
#include "symbol/symbol.h"

struct gg_module_result {
	uint64_t *addresses; /* ascending, each once; freed when the blob has arrived */
	size_t address_count;
	uint32_t *positions; /* for each address in the caller's order, its index in addresses */
	size_t asked_count;
	bool is_second_try;

	/* These fields are valid once the module is done. */
	struct gg_buf bytes; /* the blob */
	struct gg_blob blob;
	struct gg_symbol_frame *frames; /* the blob's frames */
	struct gg_symbol_outcome outcome;
};

struct gg_symbols {
	struct gg_symbol_fetches fetches;
	size_t count;
	struct gg_module_result results[];
};

/* Makes an object with addresses but without results.  NULL: out of memory. */
struct gg_symbols *gg_symbols_new(const struct gg_symbol_module *modules, size_t count);

/*
 * Takes a worker's bytes over.  Returns 0, -EBADMSG if they are no blob of the result's addresses,
 * or -ENOMEM. After an error the result is as it was.
 */
GG_MUST_CHECK int gg_module_result_take(struct gg_module_result *result, struct gg_buf *bytes);

/* Stores that there are no frames, and the reason.  Returns 0 or -ENOMEM. */
GG_MUST_CHECK int gg_module_result_fail(struct gg_module_result *result, const char *text);
