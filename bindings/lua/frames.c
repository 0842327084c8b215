/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Makes a text that lives as long as `texts`. */
static const char *__attribute__((format(printf, 2, 3)))
make(struct gg_lua_texts *texts, const char *format, ...)
{
	size_t left_bytes = sizeof(texts->bytes) - texts->used_bytes;
	char *text = texts->bytes + texts->used_bytes;
	va_list values;
	int length;

	if (left_bytes < 2)
		return "?";
	va_start(values, format);
	length = vsnprintf(text, left_bytes, format, values);
	va_end(values);
	texts->used_bytes += (size_t)length < left_bytes ? (size_t)length + 1 : left_bytes;
	return text;
}

static const char *file_of(const lua_Debug *activation, struct gg_lua_texts *texts)
{
	if (activation->source[0] == '@' || activation->source[0] == '=')
		return activation->source + 1;
	return make(texts, "%s", activation->short_src);
}

static void describe(const lua_Debug *activation, struct geiger_frame *frame,
                     struct gg_lua_texts *texts)
{
	frame->native = NULL;
	frame->line = activation->currentline > 0 ? (uint32_t)activation->currentline : 0;
	frame->file = activation->what[0] == 'C' ? NULL : file_of(activation, texts);
	if (activation->what[0] == 'm')
		frame->function = "main chunk";
	else if (activation->name != NULL)
		frame->function = activation->name;
	else if (activation->what[0] == 'C')
		frame->function = "?";
	else
		frame->function = make(texts, "function <%s:%d>", activation->short_src,
		                       activation->linedefined);
}

/* The first word of a call points to its function on the stack, or is an offset meanwhile. */
static bool is_offset(const struct CallInfo *call, size_t moving_bytes)
{
	uintptr_t function;

	memcpy(&function, call, sizeof(function));
	return function < moving_bytes;
}

size_t gg_lua_frames(const struct gg_lua_running *running, struct geiger_frame *frames,
                     size_t capacity, struct gg_lua_texts *texts, size_t moving_bytes)
{
	size_t count = 0;
	int level;

	texts->used_bytes = 0;
	for (; running != NULL && count < capacity; running = running->by) {
		lua_Debug activation;

		for (level = 0;
		     count < capacity && lua_getstack(running->state, level, &activation);
		     level++) {
			if (is_offset(activation.i_ci, moving_bytes))
				return count;
			lua_getinfo(running->state, "Sln", &activation);
			describe(&activation, &frames[count++], texts);
		}
	}
	return count;
}
