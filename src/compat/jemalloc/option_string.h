/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_string - parses jemalloc's options: "prof:true,lg_prof_sample:17,prof_prefix:/tmp/heap".
 *
 *   struct gg_option_string conf;
 *
 *   gg_option_string_init(&conf);
 *   gg_option_string_parse(&conf, "MALLOC_CONF", getenv("MALLOC_CONF"), tell, NULL);
 *   gg_option_string_finish(&conf, tell, NULL);
 *
 * The grammar is jemalloc's: pairs of key:value, separated by commas.  A key consists of letters,
 * digits and '_'; a value ends at the next comma.  Numbers are written as in C (10, 0x10, 010).
 * The parser knows the options of jemalloc's profiler, with jemalloc's defaults and limits.  It
 * skips all other keys silently, because they configure an allocator.  A value that it does not
 * understand changes nothing, and it reports the pair.  After an error in the grammar it skips the
 * rest of the string, as jemalloc does.
 *
 * Later strings override earlier ones.  The parser allocates nothing, and copies the texts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GG_OPTION_STRING_PREFIX_MAX =
		4097, /* with its 0 byte; longer prefixes are truncated, as in jemalloc */
	GG_OPTION_STRING_FRAMES_MAX = 1024 /* larger values of prof_bt_max become this one */
};

struct gg_option_string {
	bool prof, prof_active, prof_thread_active_init;
	bool prof_gdump, prof_final, prof_leak, prof_leak_error;
	bool prof_accum, prof_pid_namespace, prof_stats, prof_sys_thread_name, prof_unbias;
	bool prof_log;
	bool has_sample, has_active; /* lg_prof_sample and prof_active were given */
	uint32_t prof_bt_max;
	uint64_t lg_prof_sample;       /* 0 to 63 */
	int64_t lg_prof_interval;      /* 0 to 63; -1: no automatic dumps */
	int64_t prof_recent_alloc_max; /* -1: no limit */
	char prof_prefix[GG_OPTION_STRING_PREFIX_MAX];
};

/* Receives a message for the user: one line of text, without a newline. */
typedef void gg_option_string_tell(void *context, const char *line);

/* Sets the defaults. */
void gg_option_string_init(struct gg_option_string *conf);

/* source: the name of the string in messages.  text NULL: the string is not there. */
void gg_option_string_parse(struct gg_option_string *conf, const char *source, const char *text,
                            gg_option_string_tell *tell, void *context);

/* Resolves how options affect each other.  Call it after all strings were parsed. */
void gg_option_string_finish(struct gg_option_string *conf, gg_option_string_tell *tell,
                             void *context);
