/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile jitdumps: each answer is a text of the file, and a narrower window never finds code that
 * the whole time does not know.
 *
 * The input is an address of 8 bytes, a time of 8 bytes, and the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/resolve/jit_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_text(const struct gg_jit_dump *dump, const char *text)
{
	const char *start = dump->bytes.data, *end = start + dump->bytes.length;

	require(text >= start && text < end && memchr(text, '\0', (size_t)(end - text)) != NULL);
}

static void look_up(const struct gg_jit_dump *dump, uint64_t pc, uint64_t time_ns)
{
	struct gg_jit_dump_code always, once;
	enum gg_jit_dump_answer whole = gg_jit_dump_find(dump, pc, 0, UINT64_MAX, &always);
	enum gg_jit_dump_answer moment = gg_jit_dump_find(dump, pc, time_ns, time_ns, &once);

	require(whole != GG_JIT_DUMP_NONE || moment == GG_JIT_DUMP_NONE);
	require(whole == GG_JIT_DUMP_AMBIGUOUS || moment != GG_JIT_DUMP_AMBIGUOUS);
	if (whole == GG_JIT_DUMP_FOUND)
		require_text(dump, always.name);
	if (moment == GG_JIT_DUMP_FOUND)
		require_text(dump, once.name);
	if (once.file != NULL)
		require_text(dump, once.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gg_jit_dump dump;
	struct gg_buf bytes = { 0 };
	uint64_t pc, time_ns;
	int status;

	if (size < sizeof(pc) + sizeof(time_ns))
		return 0;
	memcpy(&pc, data, sizeof(pc));
	memcpy(&time_ns, data + sizeof(pc), sizeof(time_ns));
	gg_buf_append(&bytes, data + 16, size - 16);
	status = gg_jit_dump_parse(&dump, &bytes);
	require((status == 0 || status == -EBADMSG) && bytes.length == 0);
	if (status == 0) {
		look_up(&dump, pc, time_ns);
		for (size_t i = 0; i < dump.entries.count && i < 32; i++) {
			look_up(&dump, dump.entries.items[i].begin, time_ns);
			look_up(&dump, dump.entries.items[i].end - 1,
			        dump.entries.items[i].time_ns);
		}
		look_up(&dump, UINT64_MAX, UINT64_MAX);
	}
	gg_jit_dump_done(&dump);
	return 0;
}
