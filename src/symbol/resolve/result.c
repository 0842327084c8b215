/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result - stores the answers of each module, and finds the frames of an address.
 *
 * Callers give addresses in any order, with duplicates.  Workers and blobs need them sorted, each
 * once.  So a result keeps, for each address of the caller, its position in the sorted list.  A
 * look-up costs no search: positions[index] leads to the frames in the blob.
 */
#include "symbol/resolve/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"

/* --- addresses ---------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static uint32_t position_of(const struct gg_module_result *result, uint64_t address)
{
	return (uint32_t)gg_lower_bound(0, result->address_count, i,
	                                result->addresses[i] < address);
}

/*
 * Sorts the module's addresses and removes duplicates.  Stores for each address of the caller where
 * it went.  Returns false if memory is out, or if there are more addresses than a blob can hold.
 */
static bool prepare(struct gg_module_result *result, const struct gg_symbol_module *module)
{
	const size_t asked = module->address_count;
	size_t count = 0;

	result->outcome.text = "";
	result->asked_count = asked;
	if (asked == 0)
		return true;
	if (asked > UINT32_MAX)
		return false;
	result->addresses = malloc(asked * sizeof(*result->addresses));
	result->positions = malloc(asked * sizeof(*result->positions));
	if (result->addresses == NULL || result->positions == NULL)
		return false;
	memcpy(result->addresses, module->addresses, asked * sizeof(*result->addresses));
	qsort(result->addresses, asked, sizeof(*result->addresses), compare);
	for (size_t i = 0; i < asked; i++)
		if (count == 0 || result->addresses[count - 1] != result->addresses[i])
			result->addresses[count++] = result->addresses[i];
	result->address_count = count;
	for (size_t i = 0; i < asked; i++)
		result->positions[i] = position_of(result, module->addresses[i]);
	return true;
}

struct gg_symbols *gg_symbols_new(const struct gg_symbol_module *modules, size_t count)
{
	struct gg_symbols *symbols = calloc(1,
	                                    sizeof(*symbols) + count * sizeof(symbols->results[0]));

	if (symbols == NULL)
		return NULL;
	symbols->count = count;
	for (size_t i = 0; i < count; i++)
		if (!prepare(&symbols->results[i], &modules[i])) {
			gg_symbols_free(symbols);
			return NULL;
		}
	return symbols;
}

void gg_symbols_free(struct gg_symbols *symbols)
{
	for (size_t i = 0; symbols != NULL && i < symbols->count; i++) {
		struct gg_module_result *result = &symbols->results[i];

		free(result->addresses);
		free(result->positions);
		free(result->frames);
		gg_buf_done(&result->bytes);
	}
	free(symbols);
}

struct gg_symbol_fetches gg_symbols_fetches(const struct gg_symbols *symbols)
{
	return symbols->fetches;
}

size_t gg_symbols_bytes(const struct gg_symbols *symbols)
{
	size_t bytes = sizeof(*symbols);

	for (size_t i = 0; i < symbols->count; i++) {
		const struct gg_module_result *result = &symbols->results[i];

		bytes += sizeof(*result) + result->bytes.capacity +
		         result->asked_count * sizeof(*result->positions);
		if (result->addresses != NULL)
			bytes += result->asked_count * sizeof(*result->addresses);
		if (result->frames != NULL)
			bytes += result->blob.header->frame_count * sizeof(*result->frames);
	}
	return bytes;
}

/* --- results ------------------------------------------------------------------------------ */

/*
 * A worker that read a hostile file may send a valid blob of other addresses.  Positions in
 * `result` would then refer to wrong frames, or past their end.
 */
static bool answers_the_question(const struct gg_module_result *result, const struct gg_blob *blob)
{
	return blob->header->address_count == result->address_count &&
	       memcmp(blob->addresses, result->addresses,
	              result->address_count * sizeof(*result->addresses)) == 0;
}

static void fill_frames(struct gg_symbol_frame *frames, const struct gg_blob *blob)
{
	for (uint32_t i = 0; i < blob->header->frame_count; i++) {
		const struct gg_blob_frame *from = &blob->frames[i];

		frames[i] = (struct gg_symbol_frame){
			.function = gg_blob_string(blob, from->function),
			.full_name = gg_blob_string(blob, from->full_name),
			.linkage_name = gg_blob_string(blob, from->linkage_name),
			.file = gg_blob_string(blob, from->file),
			.line = from->line,
			.inlined = from->inlined != 0,
			.is_unnamed = from->is_unnamed != 0,
		};
	}
}

/* True if the function of the address at a position has a name that is not made of an address. */
static bool has_name(const struct gg_blob *blob, size_t position)
{
	const struct gg_blob_frame *frames;
	size_t count = gg_blob_frames(blob, position, &frames);

	return count > 0 && frames[count - 1].is_unnamed == 0;
}

int gg_module_result_take(struct gg_module_result *result, struct gg_buf *bytes)
{
	struct gg_symbol_frame *frames;
	struct gg_blob blob;

	/* The buffer had room for more. */
	gg_buf_trim(bytes);
	if (bytes->data == NULL || gg_blob_read(&blob, bytes->data, bytes->length) < 0 ||
	    !answers_the_question(result, &blob))
		return -EBADMSG;
	frames = calloc((size_t)blob.header->frame_count + 1, sizeof(*frames));
	if (frames == NULL)
		return -ENOMEM;
	/*
	 * The frames of the result refer to the strings of the blob, so the result keeps the bytes.
	 */
	fill_frames(frames, &blob);
	result->bytes = *bytes;
	*bytes = (struct gg_buf){ 0 };
	result->blob = blob;
	result->frames = frames;
	result->outcome.status = (enum gg_symbol_status)blob.header->status;
	result->outcome.text = blob.strings + blob.header->text;
	result->outcome.from_cache = blob.header->from_cache != 0;
	result->outcome.is_second_try = result->is_second_try;
	for (size_t i = 0; i < result->asked_count; i++)
		result->outcome.unresolved_count += !has_name(&blob, result->positions[i]);
	free(result->addresses);
	result->addresses = NULL;
	return 0;
}

int gg_module_result_fail(struct gg_module_result *result, const char *text)
{
	size_t length = strlen(text) + 1;

	gg_buf_clear(&result->bytes);
	gg_buf_append(&result->bytes, text, length);
	if (result->bytes.failed)
		return -ENOMEM;
	result->outcome = (struct gg_symbol_outcome){ .status = GG_SYMBOL_UNREADABLE,
		                                      .text = result->bytes.data,
		                                      .unresolved_count = result->asked_count };
	return 0;
}

/* --- asking ------------------------------------------------------------------------------- */

size_t gg_symbols_frames(const struct gg_symbols *symbols, size_t module, size_t index,
                         const struct gg_symbol_frame **ret_frames)
{
	const struct gg_module_result *result = &symbols->results[module];
	const struct gg_blob_frame *frames;
	size_t count;

	if (result->frames == NULL)
		return 0;
	count = gg_blob_frames(&result->blob, result->positions[index], &frames);
	*ret_frames = result->frames + (frames - result->blob.frames);
	return count;
}

const struct gg_symbol_outcome *gg_symbols_outcome(const struct gg_symbols *symbols, size_t module)
{
	return &symbols->results[module].outcome;
}

const char *gg_symbol_status_text(enum gg_symbol_status status)
{
	switch (status) {
	case GG_SYMBOL_FULL:
		return "functions and lines";
	case GG_SYMBOL_NAMES:
		return "functions only";
	case GG_SYMBOL_STRIPPED:
		return "no symbols";
	case GG_SYMBOL_NO_FILE:
		return "no file";
	case GG_SYMBOL_MISMATCH:
		return "another build";
	case GG_SYMBOL_UNREADABLE:
		return "unreadable";
	}
	return "unknown";
}
