/* SPDX-License-Identifier: Apache-2.0 */
/* nettrace_writer - writes the containers of both versions, and payloads of the runtime. */
#include "nettrace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

enum { MODULE_NUMBER = 77 };

static const struct {
	const char *provider;
	uint32_t id;
} kinds[NETTRACE_METADATA_COUNT] = {
	[NETTRACE_SAMPLED] = { "Microsoft-Windows-DotNETRuntime", 303 },
	[NETTRACE_TICK] = { "Microsoft-Windows-DotNETRuntime", 10 },
	[NETTRACE_METHOD_LOADED] = { "Microsoft-Windows-DotNETRuntime", 143 },
	[NETTRACE_METHOD_UNLOADED] = { "Microsoft-Windows-DotNETRuntime", 144 },
	[NETTRACE_METHOD_RUNDOWN] = { "Microsoft-Windows-DotNETRuntimeRundown", 144 },
	[NETTRACE_MODULE_RUNDOWN] = { "Microsoft-Windows-DotNETRuntimeRundown", 152 },
	[NETTRACE_GC_START] = { "Microsoft-Windows-DotNETRuntime", 1 },
	[NETTRACE_GC_END] = { "Microsoft-Windows-DotNETRuntime", 2 },
	[NETTRACE_GC_SURVIVED] = { "Microsoft-Windows-DotNETRuntime", 21 },
	[NETTRACE_GC_MOVED] = { "Microsoft-Windows-DotNETRuntime", 22 },
	[NETTRACE_GC_RANGE] = { "Microsoft-Windows-DotNETRuntime", 23 },
	[NETTRACE_GC_HISTORY] = { "Microsoft-Windows-DotNETRuntime", 205 },
	[NETTRACE_PROCESS_INFO] = { "Microsoft-DotNETCore-EventPipe", 1 },
};

void nettrace_put(struct gg_buf *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++) {
		char byte = (char)(value >> 8 * i);

		gg_buf_append(out, &byte, 1);
	}
}

void nettrace_put_text(struct gg_buf *out, const char *text)
{
	for (const char *at = text; *at != '\0'; at++)
		nettrace_put(out, (unsigned char)*at, 2);
	nettrace_put(out, 0, 2);
}

static void put_utf8(struct gg_buf *out, const char *text)
{
	gg_varint_append(out, strlen(text));
	gg_buf_append_text(out, text);
}

static void put_block(struct nettrace_writer *writer, const char *name, unsigned kind,
                      const struct gg_buf *block)
{
	struct gg_buf *file = &writer->file;

	if (writer->version == 6) {
		nettrace_put(file, block->length | (uint64_t)kind << 24, 4);
		gg_buf_append(file, block->data, block->length);
		return;
	}
	gg_buf_append(file, "\5\5\1", 3);
	nettrace_put(file, kind == 1 ? 4 : 2, 4);
	nettrace_put(file, kind == 1 ? 4 : 2, 4);
	nettrace_put(file, strlen(name), 4);
	gg_buf_append_text(file, name);
	gg_buf_append(file, "\6", 1);
	if (kind != 1) {
		nettrace_put(file, block->length, 4);
		while (file->length % 4 != 0)
			gg_buf_append(file, "", 1);
	}
	gg_buf_append(file, block->data, block->length);
	gg_buf_append(file, "\6", 1);
}

static void put_block_head(struct gg_buf *block, bool is_compressed)
{
	nettrace_put(block, 24, 2); /* 4 bytes more than readers know */
	nettrace_put(block, is_compressed, 2);
	nettrace_put(block, 0, 8);
	nettrace_put(block, 0, 8);
	nettrace_put(block, 0xffffffff, 4);
}

static void put_metadata(struct nettrace_writer *writer)
{
	struct gg_buf block = { 0 };

	if (writer->version == 4)
		put_block_head(&block, true);
	else
		nettrace_put(&block, 0, 2);
	for (uint32_t id = 1; id < NETTRACE_METADATA_COUNT; id++) {
		struct gg_buf row = { 0 };

		if (writer->version == 4) {
			nettrace_put(&row, id, 4);
			nettrace_put_text(&row, kinds[id].provider);
			nettrace_put(&row, kinds[id].id, 4);
			nettrace_put_text(&row, "");
			for (int i = 0; i < 5; i++) /* keywords, version, level, fields */
				nettrace_put(&row, 0, 4);
			nettrace_put(&block, 128, 1);
			nettrace_put(&block, 0, 1); /* time */
			gg_varint_append(&block, row.length);
		} else {
			gg_varint_append(&row, id);
			put_utf8(&row, kinds[id].provider);
			gg_varint_append(&row, kinds[id].id);
			put_utf8(&row, "");
			nettrace_put(&row, 0, 2 + 2);
			nettrace_put(&block, row.length, 2);
		}
		gg_buf_append(&block, row.data, row.length);
		gg_buf_done(&row);
	}
	put_block(writer, "MetadataBlock", 3, &block);
	gg_buf_done(&block);
}

static uint64_t start_of(const struct nettrace_writer *writer)
{
	return writer->start_ticks != 0 ? writer->start_ticks : 1000000;
}

void nettrace_begin(struct nettrace_writer *writer, uint32_t pid)
{
	struct gg_buf block = { 0 };
	static const uint64_t date[8] = { 2026, 11, 0, 22, 12, 30, 45, 250 };

	writer->pid = pid;
	gg_buf_append_text(&writer->file, "Nettrace");
	if (writer->version == 6) {
		nettrace_put(&writer->file, 0, 4);
		nettrace_put(&writer->file, 6, 4);
		nettrace_put(&writer->file, 0, 4);
	} else {
		nettrace_put(&writer->file, 20, 4);
		gg_buf_append_text(&writer->file, "!FastSerialization.1");
	}
	for (size_t i = 0; i < 8; i++)
		nettrace_put(&block, date[i], 2);
	nettrace_put(&block, start_of(writer), 8);
	nettrace_put(&block, 1000000000, 8);
	nettrace_put(&block, 8, 4);
	if (writer->version == 6) {
		char text[16];

		nettrace_put(&block, 2, 4);
		put_utf8(&block, "HardwareThreadCount");
		put_utf8(&block, "2");
		put_utf8(&block, "ProcessId");
		snprintf(text, sizeof(text), "%u", pid);
		put_utf8(&block, text);
	} else {
		nettrace_put(&block, pid, 4);
		nettrace_put(&block, 2, 4);
		nettrace_put(&block, 0, 4);
	}
	put_block(writer, "Trace", 1, &block);
	gg_buf_done(&block);
	put_metadata(writer);
}

void nettrace_end(struct nettrace_writer *writer)
{
	nettrace_flush(writer);
	if (writer->version == 6)
		nettrace_put(&writer->file, 0, 4);
	else
		nettrace_put(&writer->file, 1, 1);
}

void nettrace_done(struct nettrace_writer *writer)
{
	gg_buf_done(&writer->file);
	gg_buf_done(&writer->events);
}

void nettrace_flush(struct nettrace_writer *writer)
{
	if (writer->events.length > 0)
		put_block(writer, "EventBlock", 2, &writer->events);
	gg_buf_clear(&writer->events);
	memset(&writer->last, 0, sizeof(writer->last));
}

void nettrace_sequence_point(struct nettrace_writer *writer)
{
	struct gg_buf block = { 0 };

	nettrace_flush(writer);
	nettrace_put(&block, 0, 8);
	if (writer->version == 6)
		nettrace_put(&block, 0, 4);
	nettrace_put(&block, writer->thread_count, 4);
	for (size_t i = 0; i < writer->thread_count; i++) {
		if (writer->version == 6) {
			gg_varint_append(&block, i + 1);
			gg_varint_append(&block, writer->sequences[i]);
		} else {
			nettrace_put(&block, writer->threads[i], 8);
			nettrace_put(&block, writer->sequences[i], 4);
		}
	}
	put_block(writer, "SPBlock", 4, &block);
	gg_buf_done(&block);
}

void nettrace_stack(struct nettrace_writer *writer, uint32_t id, const uint64_t *addresses,
                    uint32_t count)
{
	struct gg_buf block = { 0 };

	nettrace_put(&block, id, 4);
	nettrace_put(&block, 1, 4);
	nettrace_put(&block, (uint64_t)count * 8, 4);
	for (uint32_t i = 0; i < count; i++)
		nettrace_put(&block, addresses[i], 8);
	put_block(writer, "StackBlock", 5, &block);
	gg_buf_done(&block);
}

static size_t find_thread(struct nettrace_writer *writer, uint64_t tid)
{
	struct gg_buf block = { 0 }, row = { 0 };
	size_t at = 0;

	while (at < writer->thread_count && writer->threads[at] != tid)
		at++;
	if (at < writer->thread_count)
		return at;
	if (at == NETTRACE_THREADS_MAX)
		abort();
	writer->threads[writer->thread_count++] = tid;
	if (writer->version == 6) {
		gg_varint_append(&row, at + 1);
		nettrace_put(&row, 1, 1);
		put_utf8(&row, "worker");
		nettrace_put(&row, 2, 1);
		gg_varint_append(&row, writer->pid);
		nettrace_put(&row, 3, 1);
		gg_varint_append(&row, tid);
		nettrace_put(&block, row.length, 2);
		gg_buf_append(&block, row.data, row.length);
		put_block(writer, "Thread", 6, &block);
	}
	gg_buf_done(&block);
	gg_buf_done(&row);
	return at;
}

void nettrace_drop(struct nettrace_writer *writer, uint64_t tid, uint32_t count)
{
	writer->sequences[find_thread(writer, tid)] += count;
}

static void put_compressed(struct nettrace_writer *writer, uint32_t metadata, uint64_t thread,
                           uint32_t sequence, uint32_t stack, uint64_t ticks, uint32_t payload)
{
	struct gg_buf *out = &writer->events;
	unsigned flags = 0;

	if (metadata != writer->last.metadata)
		flags |= 1;
	if (thread != writer->last.capture || sequence != writer->last.sequence + 1)
		flags |= 2;
	if (thread != writer->last.thread)
		flags |= 4;
	if (stack != writer->last.stack)
		flags |= 8;
	if (payload != writer->last.payload)
		flags |= 128;
	nettrace_put(out, flags, 1);
	if ((flags & 1) != 0)
		gg_varint_append(out, metadata);
	if ((flags & 2) != 0) {
		gg_varint_append(out, (uint32_t)(sequence - writer->last.sequence - 1));
		gg_varint_append(out, thread);
		gg_varint_append(out, 1);
	}
	if ((flags & 4) != 0)
		gg_varint_append(out, thread);
	if ((flags & 8) != 0)
		gg_varint_append(out, stack);
	gg_varint_append(out, ticks - writer->last.ticks); /* modulo 2^64 */
	if ((flags & 128) != 0)
		gg_varint_append(out, payload);
	writer->last.metadata = metadata;
	writer->last.sequence = sequence;
	writer->last.thread = writer->last.capture = thread;
	writer->last.stack = stack;
	writer->last.ticks = ticks;
	writer->last.payload = payload;
}

static void put_plain(struct nettrace_writer *writer, uint32_t metadata, uint64_t thread,
                      uint32_t sequence, uint32_t stack, uint64_t ticks,
                      const struct gg_buf *payload)
{
	struct gg_buf *out = &writer->events;
	unsigned activity_bytes = writer->version == 6 ? 4 : 32;
	uint64_t bytes = 4 + 4 + 8 + 8 + 4 + 4 + 8 + activity_bytes + 4 + payload->length;

	nettrace_put(out, bytes, 4);
	nettrace_put(out, metadata | UINT64_C(0x80000000), 4);
	nettrace_put(out, sequence, 4);
	nettrace_put(out, thread, 8);
	nettrace_put(out, thread, 8);
	nettrace_put(out, 1, 4);
	nettrace_put(out, stack, 4);
	nettrace_put(out, ticks, 8);
	for (unsigned i = 0; i < activity_bytes; i++)
		nettrace_put(out, 0, 1);
	nettrace_put(out, payload->length, 4);
	gg_buf_append(out, payload->data, payload->length);
	while (writer->version == 4 && out->length % 4 != 0) /* blocks begin at multiples of 4 */
		gg_buf_append(out, "", 1);
}

void nettrace_event(struct nettrace_writer *writer, enum nettrace_metadata metadata, uint64_t tid,
                    int64_t time_ns, uint32_t stack, const struct gg_buf *payload)
{
	size_t index = find_thread(writer, tid);
	uint64_t thread = writer->version == 6 ? index + 1 : tid;
	uint32_t sequence = ++writer->sequences[index];
	uint64_t ticks = start_of(writer) + (uint64_t)time_ns;

	if (writer->events.length == 0)
		put_block_head(&writer->events, writer->is_compressed);
	if (writer->is_compressed) {
		put_compressed(writer, metadata, thread, sequence, stack, ticks,
		               (uint32_t)payload->length);
		gg_buf_append(&writer->events, payload->data, payload->length);
	} else {
		put_plain(writer, metadata, thread, sequence, stack, ticks, payload);
	}
}

void nettrace_sample(struct nettrace_writer *writer, uint64_t tid, int64_t time_ns, uint32_t stack,
                     const char *type, uint64_t address, uint64_t size, uint64_t offset)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, size >= 85000, 4);
	nettrace_put(&payload, 0, 2);
	nettrace_put(&payload, 0x7000, 8);
	nettrace_put_text(&payload, type);
	nettrace_put(&payload, address, 8);
	nettrace_put(&payload, size, 8);
	nettrace_put(&payload, offset, 8);
	nettrace_event(writer, NETTRACE_SAMPLED, tid, time_ns, stack, &payload);
	gg_buf_done(&payload);
}

void nettrace_tick(struct nettrace_writer *writer, uint64_t tid, int64_t time_ns, uint32_t stack,
                   const char *type, uint64_t amount, uint64_t size)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, amount, 4);
	nettrace_put(&payload, 0, 4);
	nettrace_put(&payload, 0, 2);
	nettrace_put(&payload, amount, 8);
	nettrace_put(&payload, 0x7000, 8);
	nettrace_put_text(&payload, type);
	if (size > 0) {
		nettrace_put(&payload, 0, 4);
		nettrace_put(&payload, 0x9000, 8);
		nettrace_put(&payload, size, 8);
	}
	nettrace_event(writer, NETTRACE_TICK, tid, time_ns, stack, &payload);
	gg_buf_done(&payload);
}

void nettrace_method(struct nettrace_writer *writer, enum nettrace_metadata kind, int64_t time_ns,
                     uint64_t start, uint32_t size, const char *type, const char *method,
                     const char *signature)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, 5, 8);
	nettrace_put(&payload, MODULE_NUMBER, 8);
	nettrace_put(&payload, start, 8);
	nettrace_put(&payload, size, 4);
	nettrace_put(&payload, 0, 8);
	nettrace_put_text(&payload, type);
	nettrace_put_text(&payload, method);
	nettrace_put_text(&payload, signature);
	nettrace_put(&payload, 0, 2);
	nettrace_event(writer, kind, 1, time_ns, 0, &payload);
	gg_buf_done(&payload);
}

void nettrace_module(struct nettrace_writer *writer, int64_t time_ns, const char *path)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, MODULE_NUMBER, 8);
	nettrace_put(&payload, 0, 8);
	nettrace_put(&payload, 0, 8);
	nettrace_put(&payload, 0, 8);
	nettrace_put_text(&payload, path);
	nettrace_put_text(&payload, "");
	nettrace_put(&payload, 0, 2);
	nettrace_event(writer, NETTRACE_MODULE_RUNDOWN, 1, time_ns, 0, &payload);
	gg_buf_done(&payload);
}
