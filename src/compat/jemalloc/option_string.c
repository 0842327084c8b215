/* SPDX-License-Identifier: Apache-2.0 */
/* option_string - parses pairs of key and value by a table of options. */
#include "compat/jemalloc/option_string.h"

#include <limits.h>
#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"

enum option_kind {
	OPTION_BOOL,
	OPTION_SAMPLE,
	OPTION_INTERVAL,
	OPTION_FRAMES,
	OPTION_RECENT,
	OPTION_TEXT,
	OPTION_RESOLUTION
};

/* Texts for the message "'KEY:VALUE' is not ...". */
static const char *const forms[] = {
	[OPTION_BOOL] = "true or false",
	[OPTION_SAMPLE] = "a number from 0 to 63",
	[OPTION_INTERVAL] = "a number from -1 to 63",
	[OPTION_FRAMES] = "a number of frames",
	[OPTION_RECENT] = "a number of at least -1",
	[OPTION_RESOLUTION] = "default or high",
};

static const struct option {
	const char *name;
	enum option_kind kind;
	size_t at; /* in struct gg_option_string */
} options[] = {
	{ "lg_prof_interval", OPTION_INTERVAL,
	  offsetof(struct gg_option_string, lg_prof_interval) },
	{ "lg_prof_sample", OPTION_SAMPLE, offsetof(struct gg_option_string, lg_prof_sample) },
	{ "prof", OPTION_BOOL, offsetof(struct gg_option_string, prof) },
	{ "prof_accum", OPTION_BOOL, offsetof(struct gg_option_string, prof_accum) },
	{ "prof_active", OPTION_BOOL, offsetof(struct gg_option_string, prof_active) },
	{ "prof_bt_max", OPTION_FRAMES, offsetof(struct gg_option_string, prof_bt_max) },
	{ "prof_final", OPTION_BOOL, offsetof(struct gg_option_string, prof_final) },
	{ "prof_gdump", OPTION_BOOL, offsetof(struct gg_option_string, prof_gdump) },
	{ "prof_leak", OPTION_BOOL, offsetof(struct gg_option_string, prof_leak) },
	{ "prof_leak_error", OPTION_BOOL, offsetof(struct gg_option_string, prof_leak_error) },
	{ "prof_log", OPTION_BOOL, offsetof(struct gg_option_string, prof_log) },
	{ "prof_pid_namespace", OPTION_BOOL,
	  offsetof(struct gg_option_string, prof_pid_namespace) },
	{ "prof_prefix", OPTION_TEXT, offsetof(struct gg_option_string, prof_prefix) },
	{ "prof_recent_alloc_max", OPTION_RECENT,
	  offsetof(struct gg_option_string, prof_recent_alloc_max) },
	{ "prof_stats", OPTION_BOOL, offsetof(struct gg_option_string, prof_stats) },
	{ "prof_sys_thread_name", OPTION_BOOL,
	  offsetof(struct gg_option_string, prof_sys_thread_name) },
	{ "prof_thread_active_init", OPTION_BOOL,
	  offsetof(struct gg_option_string, prof_thread_active_init) },
	{ "prof_time_resolution", OPTION_RESOLUTION, 0 },
	{ "prof_unbias", OPTION_BOOL, offsetof(struct gg_option_string, prof_unbias) },
};

/* A piece of the string: it has no 0 byte at its end. */
struct option_piece {
	const char *at;
	size_t length;
};

static bool is_text(const struct option_piece *piece, const char *text)
{
	return strlen(text) == piece->length && memcmp(piece->at, text, piece->length) == 0;
}

/* --- messages --- */

struct option_message {
	char text[400];
	size_t used;
};

/* Truncates a message that does not fit. */
static void add(struct option_message *line, const char *text, size_t length)
{
	size_t room = sizeof(line->text) - 1 - line->used;

	if (length > room)
		length = room;
	memcpy(line->text + line->used, text, length);
	line->used += length;
	gg_assert(line->used < sizeof(line->text));
	line->text[line->used] = '\0';
}

static void add_text(struct option_message *line, const char *text)
{
	add(line, text, strlen(text));
}

struct teller {
	const char *source;
	gg_option_string_tell *tell;
	void *context;
};

static void tell_broken(const struct teller *teller, const char *rest, const char *why)
{
	struct option_message line = { .used = 0 };

	add_text(&line, teller->source);
	add_text(&line, ": '");
	add(&line, rest, strnlen(rest, 80));
	add_text(&line, "' ");
	add_text(&line, why);
	teller->tell(teller->context, line.text);
}

static void tell_value(const struct teller *teller, const struct option_piece *key,
                       const struct option_piece *value, const char *form)
{
	struct option_message line = { .used = 0 };

	add_text(&line, teller->source);
	add_text(&line, ": '");
	add(&line, key->at, key->length);
	add_text(&line, ":");
	add(&line, value->at, value->length < 80 ? value->length : 80);
	add_text(&line, "' is not ");
	add_text(&line, form);
	add_text(&line, "; ignored");
	teller->tell(teller->context, line.text);
}

/* --- values --- */

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A' + 10);
	return 99;
}

/*
 * Parses a number as C does: 0x is base 16, 0 is base 8.  False if characters are left over.  Like
 * in strtoumax(), a negative number wraps around modulo 2^64.
 */
static bool read_number(const struct option_piece *piece, uint64_t *ret_number)
{
	const char *at = piece->at, *end = at + piece->length;
	bool is_negative = false;
	unsigned base = 10;
	uint64_t number = 0;

	if (at < end && (*at == '-' || *at == '+'))
		is_negative = *at++ == '-';
	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		base = 16;
		at += 2;
	} else if (end - at > 1 && at[0] == '0') {
		base = 8;
	}
	if (at == end)
		return false;
	for (; at < end; at++) {
		if (digit_of(*at) >= base || __builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit_of(*at), &number))
			return false;
	}
	*ret_number = is_negative ? 0 - number : number;
	return true;
}

static bool read_signed(const struct option_piece *piece, int64_t most, int64_t *number)
{
	uint64_t value;

	if (!read_number(piece, &value) || (int64_t)value < -1 || (int64_t)value > most)
		return false;
	*number = (int64_t)value;
	return true;
}

static bool read_bool(const struct option_piece *piece, bool *value)
{
	if (!is_text(piece, "true") && !is_text(piece, "false"))
		return false;
	*value = is_text(piece, "true");
	return true;
}

/*
 * Stores the value of an option; false: it is not valid.  As in jemalloc, lg_prof_sample,
 * prof_bt_max, and the prefix are clamped to their limits, and other values beyond their limits are
 * invalid.
 */
static bool take(struct gg_option_string *conf, const struct option *option,
                 const struct option_piece *value)
{
	void *place = (char *)conf + option->at;
	uint64_t number;
	size_t length;

	switch (option->kind) {
	case OPTION_BOOL:
		return read_bool(value, place);
	case OPTION_SAMPLE:
		if (!read_number(value, &number))
			return false;
		conf->lg_prof_sample = number < 63 ? number : 63;
		return true;
	case OPTION_INTERVAL:
		return read_signed(value, 63, place);
	case OPTION_FRAMES:
		if (!read_number(value, &number))
			return false;
		conf->prof_bt_max = number == 0 ? 1
		                    : number < GG_OPTION_STRING_FRAMES_MAX
		                            ? (uint32_t)number
		                            : GG_OPTION_STRING_FRAMES_MAX;
		return true;
	case OPTION_RECENT:
		return read_signed(value, INT64_MAX, place);
	case OPTION_TEXT:
		length = value->length < GG_OPTION_STRING_PREFIX_MAX - 1
		                 ? value->length
		                 : GG_OPTION_STRING_PREFIX_MAX - 1;
		memcpy(place, value->at, length);
		((char *)place)[length] = '\0';
		return true;
	case OPTION_RESOLUTION:
		return is_text(value, "default") || is_text(value, "high");
	}
	return false;
}

/* Unknown keys belong to the allocator, so they pass silently. */
static void take_pair(struct gg_option_string *conf, const struct teller *teller,
                      const struct option_piece *key, const struct option_piece *value)
{
	for (size_t i = 0; i < GG_COUNT(options); i++) {
		if (!is_text(key, options[i].name))
			continue;
		if (!take(conf, &options[i], value)) {
			tell_value(teller, key, value, forms[options[i].kind]);
			return;
		}
		/* Options that were given win over geiger's own variables (compat_begin.c). */
		conf->has_sample |= options[i].kind == OPTION_SAMPLE;
		conf->has_active |= options[i].at == offsetof(struct gg_option_string, prof_active);
	}
}

static bool is_key(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

void gg_option_string_init(struct gg_option_string *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->prof_active = true;
	conf->prof_thread_active_init = true;
	conf->prof_unbias = true;
	conf->prof_bt_max = 128;
	conf->lg_prof_sample = 19;
	conf->lg_prof_interval = -1;
	memcpy(conf->prof_prefix, "jeprof", sizeof("jeprof"));
}

void gg_option_string_parse(struct gg_option_string *conf, const char *source, const char *text,
                            gg_option_string_tell *tell, void *context)
{
	const struct teller teller = { source, tell, context };

	if (text == NULL)
		return;
	while (*text != '\0') {
		struct option_piece key = { text, 0 }, value;

		while (is_key(key.at[key.length]))
			key.length++;
		/* As in jemalloc, an error in the grammar ends the parsing of this string. */
		if (key.at[key.length] != ':') {
			tell_broken(&teller, text,
			            key.at[key.length] == '\0'
			                    ? "has no value; ignored"
			                    : "is not KEY:VALUE; it and the rest are ignored");
			return;
		}
		value.at = key.at + key.length + 1;
		value.length = strcspn(value.at, ",");
		take_pair(conf, &teller, &key, &value);
		text = value.at + value.length;
		if (*text == ',' && *++text == '\0')
			tell_broken(&teller, key.at, "ends with a comma");
	}
}

void gg_option_string_finish(struct gg_option_string *conf, gg_option_string_tell *tell,
                             void *context)
{
	/* jemalloc refuses to start with this pair; here prof_leak_error has no effect. */
	if (conf->prof_leak_error && !conf->prof_final) {
		tell(context, "prof_leak_error:true has no effect without prof_final:true");
		conf->prof_leak_error = false;
	}
	if (conf->prof_leak_error)
		conf->prof_leak = true;
	/*
	 * A leak check needs samples.  So jemalloc enables profiling for it, but without automatic
	 * dumps.
	 */
	if (conf->prof_leak && !conf->prof) {
		conf->prof = true;
		conf->prof_gdump = false;
		conf->lg_prof_interval = -1;
	}
}
