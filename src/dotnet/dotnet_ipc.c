/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet_ipc - writes commands, and reads replies and greetings. */
#include "dotnet/dotnet_ipc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dotnet/byte_cursor.h"
#include "dotnet/dotnet_names.h"

static const char magic[14] = "DOTNET_IPC_V1";
static const char greeting_magic[8] = "ADVR_V1";

enum {
	SET_EVENTS = 2,
	COMMAND_STOP = 1,
	COMMAND_COLLECT_2 = 3, /* since .NET Core 3.1 */
	COMMAND_COLLECT_5 = 6, /* since .NET 10: with a list of events */
	SET_PROCESS = 4,
	COMMAND_INFO_2 = 4,
	COMMAND_INFO_3 = 8,
	SET_REPLY = 0xff,
	REPLY_OK = 0,
	REPLY_ERROR = 0xff,
	FORMAT_NETTRACE = 1,
	LEVEL_VERBOSE = 5,
	/* The program's memory for events that the recorder has not read yet. */
	BUFFER_MIB = 32,
};

/* Keywords of the runtime's provider. */
#define KEYWORD_COLLECTIONS UINT64_C(0x1)
#define KEYWORD_MODULES     UINT64_C(0x8)
#define KEYWORD_METHODS     UINT64_C(0x30) /* compiled at run time, and in advance */
#define KEYWORD_SURVIVORS   UINT64_C(0x400000)
#define KEYWORD_SAMPLES     UINT64_C(0x80000000000)

/*
 * The events that geiger reads.  Without the list, this level would bring several others with each
 * method, and ticks beside the samples.
 */
static const uint32_t wanted_events[] = {
	1,   /* a collection begins */
	2,   /* and ends */
	21,  /* ranges that survived */
	22,  /* ranges that moved */
	23,  /* ranges of generations */
	143, /* a method was compiled or loaded */
	144, /* and unloaded */
	151, /* a module was loaded into a domain */
	152, /* a module was loaded */
	205, /* what a collection was: one in the background may have become a blocking one */
	303, /* a sample */
};

static void put(struct gg_buf *out, uint64_t value, unsigned bytes)
{
	uint8_t text[8];

	for (unsigned i = 0; i < bytes; i++)
		text[i] = (uint8_t)(value >> 8 * i);
	gg_buf_append(out, text, bytes);
}

/* An ASCII text as UTF-16, with its length in characters before it; an empty one is a 0. */
static void put_text(struct gg_buf *out, const char *text)
{
	size_t length = strlen(text);

	put(out, length > 0 ? length + 1 : 0, 4);
	for (size_t i = 0; length > 0 && i <= length; i++)
		put(out, (unsigned char)text[i], 2);
}

static void put_message(struct gg_buf *out, unsigned set, unsigned command,
                        const struct gg_buf *payload)
{
	gg_buf_append(out, magic, sizeof(magic));
	put(out, GG_DOTNET_IPC_HEAD_BYTES + payload->length, 2);
	put(out, set, 1);
	put(out, command, 1);
	put(out, 0, 2);
	if (payload->length > 0)
		gg_buf_append(out, payload->data, payload->length);
	out->failed = out->failed || payload->failed;
}

void gg_dotnet_ipc_collect(struct gg_buf *out, enum gg_dotnet_ipc_events events, uint64_t rundown)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf payload = { 0 };
	bool has_samples = events == GG_DOTNET_SAMPLES;

	if (has_samples)
		put(&payload, 0, 4); /* a stream */
	put(&payload, BUFFER_MIB, 4);
	put(&payload, FORMAT_NETTRACE, 4);
	if (has_samples) {
		put(&payload, rundown, 8);
		put(&payload, 1, 1); /* with stacks */
	} else {
		put(&payload, 1, 1); /* with the lists at the end */
	}
	put(&payload, 1, 4); /* provider */
	put(&payload,
	    KEYWORD_COLLECTIONS | KEYWORD_SURVIVORS |
	            (has_samples ? KEYWORD_MODULES | KEYWORD_METHODS | KEYWORD_SAMPLES : 0),
	    8);
	put(&payload, LEVEL_VERBOSE, 4);
	put_text(&payload, "Microsoft-Windows-DotNETRuntime");
	put_text(&payload, ""); /* no arguments */
	if (has_samples) {
		put(&payload, 1, 1); /* these events alone */
		put(&payload, GG_COUNT(wanted_events), 4);
		for (size_t i = 0; i < GG_COUNT(wanted_events); i++)
			put(&payload, wanted_events[i], 4);
	}
	put_message(out, SET_EVENTS, has_samples ? COMMAND_COLLECT_5 : COMMAND_COLLECT_2, &payload);
}

void gg_dotnet_ipc_stop(struct gg_buf *out, uint64_t session)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf payload = { 0 };

	put(&payload, session, 8);
	put_message(out, SET_EVENTS, COMMAND_STOP, &payload);
}

void gg_dotnet_ipc_ask_info(struct gg_buf *out, bool is_old)
{
	const struct gg_buf nothing = { 0 };

	put_message(out, SET_PROCESS, is_old ? COMMAND_INFO_2 : COMMAND_INFO_3, &nothing);
}

int gg_dotnet_ipc_read_reply(const uint8_t *bytes, size_t length,
                             struct gg_dotnet_ipc_reply *ret_reply)
{
	struct gg_dotnet_ipc_reply reply = { 0 };
	struct gg_byte_cursor head;
	uint64_t set, command;

	if (memcmp(bytes, magic, length < sizeof(magic) ? length : sizeof(magic)) != 0)
		return -EBADMSG;
	if (length < GG_DOTNET_IPC_HEAD_BYTES)
		return 0;
	head = gg_byte_cursor_of(bytes + sizeof(magic), GG_DOTNET_IPC_HEAD_BYTES - sizeof(magic));
	reply.bytes = gg_byte_cursor_number(&head, 2);
	set = gg_byte_cursor_number(&head, 1);
	command = gg_byte_cursor_number(&head, 1);
	if (reply.bytes < GG_DOTNET_IPC_HEAD_BYTES || set != SET_REPLY ||
	    (command != REPLY_OK && command != REPLY_ERROR))
		return -EBADMSG;
	if (length < reply.bytes)
		return 0;
	reply.is_ok = command == REPLY_OK;
	reply.payload = bytes + GG_DOTNET_IPC_HEAD_BYTES;
	reply.payload_bytes = reply.bytes - GG_DOTNET_IPC_HEAD_BYTES;
	if (!reply.is_ok && reply.payload_bytes >= 4) {
		head = gg_byte_cursor_of(reply.payload, 4);
		reply.error = (uint32_t)gg_byte_cursor_number(&head, 4);
	}
	*ret_reply = reply;
	return 1;
}

/* Appends a text with its length before it, and its 0 byte.  Returns where it begins. */
static size_t take_text(struct gg_buf *texts, struct gg_byte_cursor *payload)
{
	uint64_t characters = gg_byte_cursor_number(payload, 4);
	const uint8_t *text = gg_byte_cursor_take(payload, 2 * characters);
	size_t at = texts->length;

	if (text != NULL && characters > 1)
		gg_dotnet_utf8(texts, gg_byte_cursor_of(text, 2 * (size_t)(characters - 1)));
	gg_buf_append(texts, "", 1);
	return at;
}

int gg_dotnet_ipc_read_info(const uint8_t *payload, size_t length, bool is_old,
                            struct gg_dotnet_ipc_info *ret_info)
{
	struct gg_byte_cursor at = gg_byte_cursor_of(payload, length);
	struct gg_dotnet_ipc_info info = { 0 };
	int status;

	if (!is_old)
		gg_byte_cursor_take(&at, 4); /* the version of this reply */
	gg_byte_cursor_take(&at, 8 + GG_DOTNET_IPC_COOKIE_BYTES);
	info.command_at = take_text(&info.texts, &at);
	take_text(&info.texts, &at); /* the operating system */
	take_text(&info.texts, &at); /* the architecture */
	take_text(&info.texts, &at); /* the program's assembly */
	info.version_at = take_text(&info.texts, &at);
	status = at.failed ? -EBADMSG : info.texts.failed ? -ENOMEM : 0;
	if (status < 0)
		gg_buf_done(&info.texts);
	else
		*ret_info = info;
	return status;
}

void gg_dotnet_ipc_info_done(struct gg_dotnet_ipc_info *info)
{
	gg_buf_done(&info->texts);
}

enum gg_dotnet_ipc_events gg_dotnet_ipc_events_of(const char *version)
{
	return strtoul(version, NULL, 10) >= 10 ? GG_DOTNET_SAMPLES : GG_DOTNET_TICKS;
}

bool gg_dotnet_ipc_read_greeting(const uint8_t *bytes, struct gg_dotnet_ipc_greeting *ret_greeting)
{
	struct gg_byte_cursor at = gg_byte_cursor_of(bytes, GG_DOTNET_IPC_GREETING_BYTES);

	if (memcmp(gg_byte_cursor_take(&at, sizeof(greeting_magic)), greeting_magic,
	           sizeof(greeting_magic)) != 0)
		return false;
	memcpy(ret_greeting->cookie, gg_byte_cursor_take(&at, GG_DOTNET_IPC_COOKIE_BYTES),
	       GG_DOTNET_IPC_COOKIE_BYTES);
	ret_greeting->pid = gg_byte_cursor_number(&at, 8);
	return true;
}
