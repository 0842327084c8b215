/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_string - jemalloc's option strings: "prof:true,lg_prof_sample:17,prof_prefix:/tmp/heap".
 *
 *   struct gg_option_string conf;
 *
 *   gg_option_string_init(&conf);
 *   gg_option_string_parse(&conf, "MALLOC_CONF", getenv("MALLOC_CONF"), tell, NULL);
 *   gg_option_string_finish(&conf, tell, NULL);
 *
 * The grammar is jemalloc's: pairs of key:value, divided by commas; a key is letters, digits and '_'; a
 * value is all up to the comma.  Numbers are those of C (10, 0x10, 010).  The options of its profiler are
 * taken, with its defaults and limits; all other keys are an allocator's business, and passed over
 * without a word.  A pair that is not understood changes nothing, and is told; where the grammar itself
 * is broken the rest of the string is left, as jemalloc leaves it.
 *
 * Later strings overrule earlier ones.  Nothing is allocated; the texts are copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GG_OPTION_STRING_PREFIX_MAX =
		4097, /* with its 0 byte; longer prefixes are cut, as jemalloc does */
	GG_OPTION_STRING_FRAMES_MAX = 1024 /* prof_bt_max is held there */
};

struct gg_option_string {
	bool prof, prof_active, prof_thread_active_init;
	bool prof_gdump, prof_final, prof_leak, prof_leak_error;
	bool prof_accum, prof_pid_namespace, prof_stats, prof_sys_thread_name, prof_unbias;
	bool prof_log;
	bool has_sample, has_active; /* lg_prof_sample and prof_active were given */
	uint32_t prof_bt_max;
	uint64_t lg_prof_sample;       /* 0 to 63 */
	int64_t lg_prof_interval;      /* -1: none, to 63 */
	int64_t prof_recent_alloc_max; /* -1: no limit */
	char prof_prefix[GG_OPTION_STRING_PREFIX_MAX];
};

/* Called for each pair that is not understood: a line of text, without its end. */
typedef void gg_option_string_tell(void *context, const char *line);

/* What holds where nothing is given. */
void gg_option_string_init(struct gg_option_string *conf);

/* source: what the string is called when something is told.  text NULL: nothing is given. */
void gg_option_string_parse(struct gg_option_string *conf, const char *source, const char *text,
                            gg_option_string_tell *tell, void *context);

/* What options say about each other, once all are read. */
void gg_option_string_finish(struct gg_option_string *conf, gg_option_string_tell *tell,
                             void *context);
