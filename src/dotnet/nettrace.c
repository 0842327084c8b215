/* SPDX-License-Identifier: Apache-2.0 */
/* nettrace - reads the containers of both versions, and the events in them. */
#include "dotnet/nettrace.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/time_units.h"
#include "dotnet/byte_cursor.h"

enum {
	TRACE_V4_BYTES = 48,
	OBJECT_NAME_BYTES_MAX = 64, /* no object has a longer name */
	STACK_BYTES_MAX = 4096,     /* 512 frames; the runtime writes at most 100 */
};

enum block_kind {
	BLOCK_END = 0,
	BLOCK_TRACE = 1,
	BLOCK_EVENTS = 2,
	BLOCK_METADATA = 3,
	BLOCK_SEQUENCE_POINT = 4,
	BLOCK_STACKS = 5,
	BLOCK_THREADS = 6,
	BLOCK_REMOVED_THREADS = 7,
	BLOCK_UNKNOWN = 255,
};

struct kind_of_event {
	enum gg_nettrace_provider provider;
	uint32_t id;
};

/* A thread that writes events, by its id (version 4) or index (version 6). */
struct writer_thread {
	uint64_t process, tid;
	uint32_t sequence; /* of its last event */
};

struct stack {
	const uint8_t *addresses;
	uint32_t bytes;
};

struct nettrace_reader {
	const uint8_t *start;
	size_t length;
	struct gg_byte_cursor file;
	struct gg_nettrace_head *head;
	struct gg_nettrace_fault *fault;
	gg_nettrace_visit *visit;
	void *context;
	GG_ARRAY(struct kind_of_event) kinds;
	GG_ARRAY(struct writer_thread) threads;
	GG_ARRAY(struct stack) stacks;
	struct gg_map kind_of_id, thread_of_id, stack_of_id;
	bool has_trace;
};

/* The fields of an event's header, which compressed headers carry on from event to event. */
struct event_header {
	uint32_t metadata, sequence, stack, payload_bytes;
	uint64_t thread, capture_thread, ticks;
};

static uint64_t offset_of(const struct nettrace_reader *reader, const uint8_t *at)
{
	return (uint64_t)(at - reader->start);
}

static int wrong(struct nettrace_reader *reader, const uint8_t *at, const char *message)
{
	*reader->fault = (struct gg_nettrace_fault){ offset_of(reader, at), message };
	return -EBADMSG;
}

/* --- metadata --------------------------------------------------------------------------------- */

static const char *const provider_names[] = {
	[GG_NETTRACE_RUNTIME] = "Microsoft-Windows-DotNETRuntime",
	[GG_NETTRACE_RUNDOWN] = "Microsoft-Windows-DotNETRuntimeRundown",
	[GG_NETTRACE_EVENTPIPE] = "Microsoft-DotNETCore-EventPipe",
};

/* Finds the provider of a name whose characters have `stride` bytes each. */
static enum gg_nettrace_provider find_provider(struct gg_byte_cursor name, unsigned stride)
{
	size_t length = gg_byte_cursor_left(&name) / stride;

	for (size_t i = 1; i < GG_COUNT(provider_names); i++) {
		struct gg_byte_cursor at = name;
		size_t same = 0;

		if (strlen(provider_names[i]) != length)
			continue;
		while (same < length &&
		       gg_byte_cursor_number(&at, stride) == (unsigned char)provider_names[i][same])
			same++;
		if (same == length)
			return (enum gg_nettrace_provider)i;
	}
	return GG_NETTRACE_OTHER;
}

static int add_kind(struct nettrace_reader *reader, uint32_t id, struct kind_of_event kind)
{
	if (!gg_array_push(&reader->kinds, kind) ||
	    gg_map_put(&reader->kind_of_id, id, reader->kinds.count - 1) < 0)
		return -ENOMEM;
	return 0;
}

static int read_metadata_v4(struct nettrace_reader *reader, struct gg_byte_cursor payload)
{
	const uint8_t *at = payload.at;
	uint32_t id = (uint32_t)gg_byte_cursor_number(&payload, 4);
	struct kind_of_event kind = {
		.provider = find_provider(gg_byte_cursor_utf16(&payload), 2),
	};

	kind.id = (uint32_t)gg_byte_cursor_number(&payload, 4);
	return payload.failed ? wrong(reader, at, "the description of an event is too short")
	                      : add_kind(reader, id, kind);
}

static int read_metadata_v6(struct nettrace_reader *reader, struct gg_byte_cursor block)
{
	gg_byte_cursor_take(&block, gg_byte_cursor_number(&block, 2));
	while (gg_byte_cursor_left(&block) > 0) {
		const uint8_t *at = block.at;
		uint64_t bytes = gg_byte_cursor_number(&block, 2);
		const uint8_t *row = gg_byte_cursor_take(&block, bytes);
		struct gg_byte_cursor name, fields;
		struct kind_of_event kind = { 0 };
		uint32_t id;
		int status;

		if (row == NULL)
			return wrong(reader, at, "the description of an event passes its block");
		fields = gg_byte_cursor_of(row, bytes);
		id = (uint32_t)gg_byte_cursor_varint(&fields);
		bytes = gg_byte_cursor_varint(&fields);
		name.at = gg_byte_cursor_take(&fields, bytes);
		if (name.at == NULL)
			return wrong(reader, at, "the description of an event is too short");
		kind.provider = find_provider(gg_byte_cursor_of(name.at, bytes), 1);
		kind.id = (uint32_t)gg_byte_cursor_varint(&fields);
		if (fields.failed)
			return wrong(reader, at, "the description of an event is too short");
		status = add_kind(reader, id, kind);
		if (status < 0)
			return status;
	}
	return 0;
}

/* --- threads and stacks ----------------------------------------------------------------------- */

/* Finds a thread, or adds it: in version 4 its id is the thread's own. */
static struct writer_thread *find_thread(struct nettrace_reader *reader, uint64_t id)
{
	uint64_t index = gg_map_get(&reader->thread_of_id, id);
	struct writer_thread thread = { .tid = reader->head->version == 4 ? id : 0 };

	if (index != GG_MAP_NONE)
		return &reader->threads.items[index];
	if (!gg_array_push(&reader->threads, thread) ||
	    gg_map_put(&reader->thread_of_id, id, reader->threads.count - 1) < 0)
		return NULL;
	return &reader->threads.items[reader->threads.count - 1];
}

/* Counts the events between the last one of a thread and this one, which were dropped. */
static void count_lost(struct nettrace_reader *reader, struct writer_thread *thread,
                       uint32_t sequence)
{
	uint32_t more = sequence - thread->sequence;

	if (more == 0 || more > INT32_MAX)
		return; /* a sequence that goes back says nothing */
	reader->head->lost_count += more;
	thread->sequence = sequence;
}

static int read_threads_v6(struct nettrace_reader *reader, struct gg_byte_cursor block)
{
	while (gg_byte_cursor_left(&block) > 0) {
		const uint8_t *at = block.at;
		uint64_t bytes = gg_byte_cursor_number(&block, 2);
		const uint8_t *row = gg_byte_cursor_take(&block, bytes);
		struct gg_byte_cursor fields;
		struct writer_thread *thread;

		if (row == NULL)
			return wrong(reader, at, "the description of a thread passes its block");
		fields = gg_byte_cursor_of(row, bytes);
		thread = find_thread(reader, gg_byte_cursor_varint(&fields));
		if (thread == NULL)
			return -ENOMEM;
		while (gg_byte_cursor_left(&fields) > 0) {
			switch (gg_byte_cursor_number(&fields, 1)) {
			case 1:
				gg_byte_cursor_take(&fields, gg_byte_cursor_varint(&fields));
				break;
			case 2:
				thread->process = gg_byte_cursor_varint(&fields);
				break;
			case 3:
				thread->tid = gg_byte_cursor_varint(&fields);
				break;
			case 4:
				gg_byte_cursor_take(&fields, gg_byte_cursor_varint(&fields));
				gg_byte_cursor_take(&fields, gg_byte_cursor_varint(&fields));
				break;
			default: /* the size of what a later version adds is unknown */
				fields.at = fields.end;
			}
		}
		if (fields.failed)
			return wrong(reader, at, "the description of a thread is too short");
	}
	return 0;
}

static int remove_threads_v6(struct nettrace_reader *reader, struct gg_byte_cursor block)
{
	while (gg_byte_cursor_left(&block) > 0) {
		const uint8_t *at = block.at;
		uint64_t id = gg_byte_cursor_varint(&block);
		uint32_t sequence = (uint32_t)gg_byte_cursor_varint(&block);
		uint64_t index = gg_map_get(&reader->thread_of_id, id);

		if (block.failed)
			return wrong(reader, at, "the end of a thread is too short");
		if (index != GG_MAP_NONE)
			count_lost(reader, &reader->threads.items[index], sequence);
		gg_map_remove(&reader->thread_of_id, id);
	}
	return 0;
}

static int read_stacks(struct nettrace_reader *reader, struct gg_byte_cursor block)
{
	uint32_t id = (uint32_t)gg_byte_cursor_number(&block, 4);
	uint32_t count = (uint32_t)gg_byte_cursor_number(&block, 4);

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *at = block.at;
		struct stack stack;

		stack.bytes = (uint32_t)gg_byte_cursor_number(&block, 4);
		stack.addresses = gg_byte_cursor_take(&block, stack.bytes);
		if (stack.addresses == NULL)
			return wrong(reader, at, "the stack passes its block");
		if (stack.bytes > STACK_BYTES_MAX)
			stack.bytes = STACK_BYTES_MAX;
		if (!gg_array_push(&reader->stacks, stack) ||
		    gg_map_put(&reader->stack_of_id, id + i, reader->stacks.count - 1) < 0)
			return -ENOMEM;
	}
	return block.failed ? wrong(reader, block.end, "the block of stacks is too short") : 0;
}

/* --- sequence points -------------------------------------------------------------------------- */

static int read_sequence_point(struct nettrace_reader *reader, struct gg_byte_cursor block)
{
	bool is_v4 = reader->head->version == 4;
	uint32_t flags, count;

	gg_byte_cursor_number(&block, 8);
	flags = is_v4 ? 0 : (uint32_t)gg_byte_cursor_number(&block, 4);
	count = (uint32_t)gg_byte_cursor_number(&block, 4);
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *at = block.at;
		uint64_t id = is_v4 ? gg_byte_cursor_number(&block, 8)
		                    : gg_byte_cursor_varint(&block);
		uint32_t sequence = (uint32_t)(is_v4 ? gg_byte_cursor_number(&block, 4)
		                                     : gg_byte_cursor_varint(&block));
		struct writer_thread *thread;

		if (block.failed)
			return wrong(reader, at, "the sequence point is too short");
		thread = find_thread(reader, id);
		if (thread == NULL)
			return -ENOMEM;
		count_lost(reader, thread, sequence);
	}
	if (block.failed)
		return wrong(reader, block.end, "the sequence point is too short");
	reader->stacks.count = 0;
	gg_map_done(&reader->stack_of_id);
	if ((flags & 1) != 0)
		gg_map_done(&reader->thread_of_id);
	if ((flags & 2) != 0)
		gg_map_done(&reader->kind_of_id);
	return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

/* The writer's clock has a whole number of ticks a second; 1e9 of them on Linux. */
static int64_t time_of(const struct gg_nettrace_head *head, uint64_t ticks)
{
	int64_t delta = (int64_t)(ticks - head->start_ticks);
	double ns;

	if (head->ticks_per_s == (uint64_t)GG_NS_PER_S)
		return delta < 0 ? 0 : delta;
	ns = (double)delta / (double)head->ticks_per_s * 1e9;
	return !(ns > 0) ? 0 : ns < 0x1p62 ? (int64_t)ns : INT64_C(1) << 62;
}

static int visit_event(struct nettrace_reader *reader, const struct event_header *header,
                       const uint8_t *payload)
{
	uint64_t kind = gg_map_get(&reader->kind_of_id, header->metadata);
	uint64_t stack = gg_map_get(&reader->stack_of_id, header->stack);
	struct writer_thread *writer = find_thread(reader, header->capture_thread), *thread;
	struct gg_nettrace_event event = {
		.time_ns = time_of(reader->head, header->ticks),
		.offset = offset_of(reader, payload),
		.payload = payload,
		.payload_bytes = header->payload_bytes,
	};

	if (writer == NULL)
		return -ENOMEM;
	count_lost(reader, writer, header->sequence - 1);
	writer->sequence = header->sequence;
	thread = find_thread(reader, header->thread);
	if (thread == NULL)
		return -ENOMEM;
	if (kind == GG_MAP_NONE) /* its description was in a part that was dropped */
		return 0;
	event.process = thread->process;
	event.tid = thread->tid;
	event.provider = reader->kinds.items[kind].provider;
	event.id = reader->kinds.items[kind].id;
	if (stack != GG_MAP_NONE && header->stack != 0) {
		event.stack = reader->stacks.items[stack].addresses;
		event.stack_bytes = reader->stacks.items[stack].bytes;
	}
	return reader->visit(&event, reader->head, reader->context);
}

static void read_compressed(const struct nettrace_reader *reader, struct gg_byte_cursor *block,
                            struct event_header *header)
{
	uint64_t flags = gg_byte_cursor_number(block, 1);
	bool is_v4 = reader->head->version == 4;

	if ((flags & 1) != 0)
		header->metadata = (uint32_t)gg_byte_cursor_varint(block);
	if ((flags & 2) != 0) {
		header->sequence += (uint32_t)gg_byte_cursor_varint(block);
		header->capture_thread = gg_byte_cursor_varint(block);
		gg_byte_cursor_varint(block); /* the processor */
	}
	if (!is_v4 || header->metadata != 0)
		header->sequence++;
	if ((flags & 4) != 0)
		header->thread = gg_byte_cursor_varint(block);
	if ((flags & 8) != 0)
		header->stack = (uint32_t)gg_byte_cursor_varint(block);
	header->ticks += gg_byte_cursor_varint(block);
	if ((flags & 16) != 0 && is_v4)
		gg_byte_cursor_take(block, 16); /* an activity */
	else if ((flags & 16) != 0)
		gg_byte_cursor_varint(block); /* labels */
	if ((flags & 32) != 0 && is_v4)
		gg_byte_cursor_take(block, 16); /* the activity that it belongs to */
	if ((flags & 128) != 0)
		header->payload_bytes = (uint32_t)gg_byte_cursor_varint(block);
}

/* Reads a header of fixed fields.  Returns where the event ends. */
static const uint8_t *read_plain(const struct nettrace_reader *reader, struct gg_byte_cursor *block,
                                 struct event_header *header)
{
	bool is_v4 = reader->head->version == 4;
	uint64_t bytes = gg_byte_cursor_number(block, 4), padding;
	const uint8_t *start = block->at;

	header->metadata = (uint32_t)gg_byte_cursor_number(block, 4) & 0x7fffffff;
	header->sequence = (uint32_t)gg_byte_cursor_number(block, 4);
	header->thread = gg_byte_cursor_number(block, 8);
	header->capture_thread = gg_byte_cursor_number(block, 8);
	gg_byte_cursor_number(block, 4);
	header->stack = (uint32_t)gg_byte_cursor_number(block, 4);
	header->ticks = gg_byte_cursor_number(block, 8);
	gg_byte_cursor_take(block, is_v4 ? 32 : 4); /* activities, or labels */
	header->payload_bytes = (uint32_t)gg_byte_cursor_number(block, 4);
	if (block->failed || bytes > (uint64_t)(block->end - start)) {
		block->failed = true;
		return block->end;
	}
	padding = is_v4 ? -(offset_of(reader, start) + bytes) & 3 : 0;
	if (padding > (uint64_t)(block->end - start) - bytes)
		padding = 0; /* at the end of the block */
	return start + bytes + padding;
}

/* Reads a block of events, or of the metadata of version 4, which look like events. */
static int read_events(struct nettrace_reader *reader, struct gg_byte_cursor block,
                       bool is_metadata)
{
	struct gg_byte_cursor whole = block;
	struct event_header header = { 0 };
	uint64_t head_bytes = gg_byte_cursor_number(&block, 2);
	bool is_compressed = (gg_byte_cursor_number(&block, 2) & 1) != 0;

	gg_byte_cursor_take(&whole, head_bytes);
	if (whole.failed || head_bytes < 20)
		return wrong(reader, block.at, "the block of events has no head");
	block = whole;
	while (gg_byte_cursor_left(&block) > 0) {
		const uint8_t *at = block.at, *end = NULL, *payload;
		int status;

		if (is_compressed)
			read_compressed(reader, &block, &header);
		else
			end = read_plain(reader, &block, &header);
		payload = gg_byte_cursor_take(&block, header.payload_bytes);
		if (block.failed || (end != NULL && block.at > end))
			return wrong(reader, at, "the event passes its block");
		if (end != NULL)
			block.at = end;
		status = is_metadata
		                 ? read_metadata_v4(
					   reader, gg_byte_cursor_of(payload, header.payload_bytes))
		                 : visit_event(reader, &header, payload);
		if (status != 0)
			return status;
	}
	return 0;
}

/* --- containers ------------------------------------------------------------------------------- */

static uint64_t read_wall_time(struct gg_byte_cursor *block)
{
	struct tm time = { 0 };
	uint64_t field[8];
	time_t seconds;

	for (size_t i = 0; i < GG_COUNT(field); i++)
		field[i] = gg_byte_cursor_number(block, 2);
	time.tm_year = (int)field[0] - 1900;
	time.tm_mon = (int)field[1] - 1;
	time.tm_mday = (int)field[3];
	time.tm_hour = (int)field[4];
	time.tm_min = (int)field[5];
	time.tm_sec = (int)field[6];
	seconds = timegm(&time);
	if (seconds < 0 || field[0] > 2200)
		return 0;
	return (uint64_t)seconds * (uint64_t)GG_NS_PER_S + field[7] % 1000 * (uint64_t)GG_NS_PER_MS;
}

static uint64_t number_of(const uint8_t *text, uint64_t length)
{
	uint64_t number = 0;

	for (uint64_t i = 0; i < length && text[i] >= '0' && text[i] <= '9' && i < 18; i++)
		number = 10 * number + (text[i] - '0');
	return number;
}

static void read_trace_pairs(struct gg_nettrace_head *head, struct gg_byte_cursor *block)
{
	uint64_t count = gg_byte_cursor_number(block, 4);

	for (uint64_t i = 0; i < count && !block->failed; i++) {
		uint64_t key_bytes = gg_byte_cursor_varint(block);
		const uint8_t *key = gg_byte_cursor_take(block, key_bytes);
		uint64_t value_bytes = gg_byte_cursor_varint(block);
		const uint8_t *value = gg_byte_cursor_take(block, value_bytes);

		if (key != NULL && value != NULL && key_bytes == 9 &&
		    memcmp(key, "ProcessId", 9) == 0)
			head->process = number_of(value, value_bytes);
	}
}

static int read_trace(struct nettrace_reader *reader, struct gg_byte_cursor block)
{
	struct gg_nettrace_head *head = reader->head;
	const uint8_t *at = block.at;

	if (reader->has_trace)
		return wrong(reader, at, "the file has two traces");
	reader->has_trace = true;
	head->start_wall_ns = read_wall_time(&block);
	head->start_ticks = gg_byte_cursor_number(&block, 8);
	head->ticks_per_s = gg_byte_cursor_number(&block, 8);
	head->pointer_bytes = (uint32_t)gg_byte_cursor_number(&block, 4);
	if (head->version == 4)
		head->process = gg_byte_cursor_number(&block, 4);
	else
		read_trace_pairs(head, &block);
	if (block.failed)
		return wrong(reader, at, "the description of the trace is too short");
	if (head->ticks_per_s == 0 || head->ticks_per_s > UINT64_C(1) << 40)
		return wrong(reader, at, "the frequency of the clock is impossible");
	if (head->pointer_bytes != 4 && head->pointer_bytes != 8)
		return wrong(reader, at, "pointers have neither 4 nor 8 bytes");
	return 0;
}

static int read_block(struct nettrace_reader *reader, enum block_kind kind,
                      struct gg_byte_cursor block)
{
	if (kind == BLOCK_TRACE)
		return read_trace(reader, block);
	if (!reader->has_trace)
		return wrong(reader, block.at, "the file does not begin with a trace");
	switch (kind) {
	case BLOCK_EVENTS:
		return read_events(reader, block, false);
	case BLOCK_METADATA:
		return reader->head->version == 4 ? read_events(reader, block, true)
		                                  : read_metadata_v6(reader, block);
	case BLOCK_SEQUENCE_POINT:
		return read_sequence_point(reader, block);
	case BLOCK_STACKS:
		return read_stacks(reader, block);
	case BLOCK_THREADS:
		return read_threads_v6(reader, block);
	case BLOCK_REMOVED_THREADS:
		return remove_threads_v6(reader, block);
	default:
		return 0; /* later versions may add kinds */
	}
}

static enum block_kind kind_of_name(const uint8_t *name, uint64_t length)
{
	static const struct {
		const char *name;
		enum block_kind kind;
	} names[] = {
		{ "Trace", BLOCK_TRACE },
		{ "EventBlock", BLOCK_EVENTS },
		{ "MetadataBlock", BLOCK_METADATA },
		{ "StackBlock", BLOCK_STACKS },
		{ "SPBlock", BLOCK_SEQUENCE_POINT },
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (length == strlen(names[i].name) && memcmp(name, names[i].name, length) == 0)
			return names[i].kind;
	return BLOCK_UNKNOWN;
}

/* Reads an object of version 4.  Returns 1 for one, 0 at the end or where the file is cut. */
static int read_object(struct nettrace_reader *reader)
{
	struct gg_byte_cursor *file = &reader->file;
	const uint8_t *at = file->at, *name, *block;
	uint64_t tag = gg_byte_cursor_number(file, 1), bytes, end_tag;
	enum block_kind kind;
	int status;

	if (!file->failed && tag == 1) {
		reader->head->is_cut = false;
		return 0;
	}
	if (!file->failed && tag != 5)
		return wrong(reader, at, "no object begins here");
	gg_byte_cursor_take(file, 10); /* two more tags, and the versions of the object */
	bytes = gg_byte_cursor_number(file, 4);
	if (!file->failed && bytes > OBJECT_NAME_BYTES_MAX)
		return wrong(reader, at, "the name of an object is too long");
	name = gg_byte_cursor_take(file, bytes);
	gg_byte_cursor_take(file, 1);
	if (file->failed)
		return 0;
	kind = kind_of_name(name, bytes);
	if (kind == BLOCK_TRACE) {
		bytes = TRACE_V4_BYTES;
	} else {
		bytes = gg_byte_cursor_number(file, 4);
		gg_byte_cursor_take(file, -offset_of(reader, file->at) & 3);
	}
	block = gg_byte_cursor_take(file, bytes);
	if (file->failed)
		return 0;
	status = read_block(reader, kind, gg_byte_cursor_of(block, bytes));
	if (status != 0)
		return status;
	at = file->at;
	end_tag = gg_byte_cursor_number(file, 1);
	if (!file->failed && end_tag != 6)
		return wrong(reader, at, "the object does not end where its size says");
	return !file->failed;
}

/* Reads a block of version 6, likewise. */
static int read_v6(struct nettrace_reader *reader)
{
	struct gg_byte_cursor *file = &reader->file;
	uint64_t word = gg_byte_cursor_number(file, 4), bytes = word & 0xffffff;
	const uint8_t *block = gg_byte_cursor_take(file, bytes);
	int status;

	if (file->failed)
		return 0;
	if (word >> 24 == BLOCK_END) {
		reader->head->is_cut = false;
		return 0;
	}
	status = read_block(reader, (enum block_kind)(word >> 24), gg_byte_cursor_of(block, bytes));
	return status != 0 ? status : 1;
}

/* Reads what precedes the objects or blocks. */
static int read_start(struct nettrace_reader *reader)
{
	static const char serialization[] = "!FastSerialization.1";
	struct gg_byte_cursor *file = &reader->file;
	const uint8_t *magic = gg_byte_cursor_take(file, 8), *name;
	uint64_t length = gg_byte_cursor_number(file, 4);

	if (file->failed || memcmp(magic, "Nettrace", 8) != 0)
		return wrong(reader, reader->start, "the file does not begin with 'Nettrace'");
	if (length == 0) {
		reader->head->version = (uint32_t)gg_byte_cursor_number(file, 4);
		gg_byte_cursor_number(file, 4);
		if (file->failed)
			return wrong(reader, reader->start, "the file ends after its first word");
		if (reader->head->version != 6)
			return wrong(reader, reader->start,
			             "the version of the file is not 4 to 6, which geiger reads");
		return 0;
	}
	reader->head->version = 4;
	name = gg_byte_cursor_take(file, length);
	if (name == NULL || length != strlen(serialization) ||
	    memcmp(name, serialization, length) != 0)
		return wrong(reader, reader->start, "the start of the file is damaged");
	return 0;
}

static int read_file(struct nettrace_reader *reader)
{
	int status = read_start(reader);

	reader->head->is_cut = true;
	if (status != 0)
		return status;
	do
		status = reader->head->version == 4 ? read_object(reader) : read_v6(reader);
	while (status == 1);
	if (status == 0 && !reader->has_trace)
		return wrong(reader, reader->start, "the file ends before its trace begins");
	return status;
}

bool gg_nettrace_begins(const uint8_t *bytes, size_t length)
{
	return length >= 12 && memcmp(bytes, "Nettrace", 8) == 0;
}

int gg_nettrace_read(const uint8_t *bytes, size_t length, gg_nettrace_visit *visit, void *context,
                     struct gg_nettrace_head *ret_head, struct gg_nettrace_fault *ret_fault)
{
	struct nettrace_reader reader = { .start = bytes,
		                          .length = length,
		                          .file = gg_byte_cursor_of(bytes, length),
		                          .head = ret_head,
		                          .fault = ret_fault,
		                          .visit = visit,
		                          .context = context };
	int status;

	*ret_head = (struct gg_nettrace_head){ 0 };
	*ret_fault = (struct gg_nettrace_fault){ 0 };
	status = read_file(&reader);
	gg_array_done(&reader.kinds);
	gg_array_done(&reader.threads);
	gg_array_done(&reader.stacks);
	gg_map_done(&reader.kind_of_id);
	gg_map_done(&reader.thread_of_id);
	gg_map_done(&reader.stack_of_id);
	return status;
}
