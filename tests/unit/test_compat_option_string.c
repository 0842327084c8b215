/* SPDX-License-Identifier: Apache-2.0 */
/* test_compat_option_string - shows that option strings are parsed as jemalloc parses them. */
#include "compat/jemalloc/option_string.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "test.h"

struct told {
	char text[2000];
	int count;
};

static void tell(void *context, const char *line)
{
	struct told *told = context;

	strncat(told->text, line, sizeof(told->text) - strlen(told->text) - 2);
	strcat(told->text, "\n");
	told->count++;
}

static struct gg_option_string parse(const char *text, struct told *told)
{
	struct gg_option_string conf;

	*told = (struct told){ .count = 0 };
	gg_option_string_init(&conf);
	gg_option_string_parse(&conf, "MALLOC_CONF", text, tell, told);
	gg_option_string_finish(&conf, tell, told);
	return conf;
}

TEST(what_is_not_given_has_the_default_of_the_manual)
{
	struct told told;
	struct gg_option_string c = parse("", &told), none = parse(NULL, &told);

	CHECK(!c.prof && c.prof_active && c.prof_thread_active_init && !c.prof_gdump);
	CHECK(!c.prof_final);
	CHECK(!c.prof_leak);
	CHECK(!c.prof_leak_error);
	CHECK(!c.prof_accum);
	CHECK(!c.prof_pid_namespace);
	CHECK(!c.prof_stats);
	CHECK(!c.prof_sys_thread_name);
	CHECK(c.prof_unbias && !c.prof_log && c.prof_bt_max == 128);
	CHECK_EQ_U64(c.lg_prof_sample, 19);
	CHECK_EQ_I64(c.lg_prof_interval, -1);
	CHECK_EQ_I64(c.prof_recent_alloc_max, 0);
	CHECK_EQ_STR(c.prof_prefix, "jeprof");
	CHECK(!c.has_sample);
	CHECK(!c.has_active);
	CHECK(memcmp(&c, &none, sizeof(c)) == 0 && told.count == 0);
}

TEST(each_switch_is_turned_by_its_name_and_by_no_other)
{
	static const struct {
		const char *name;
		size_t at;
	} switches[] = {
		{ "prof", offsetof(struct gg_option_string, prof) },
		{ "prof_accum", offsetof(struct gg_option_string, prof_accum) },
		{ "prof_active", offsetof(struct gg_option_string, prof_active) },
		{ "prof_final", offsetof(struct gg_option_string, prof_final) },
		{ "prof_gdump", offsetof(struct gg_option_string, prof_gdump) },
		{ "prof_log", offsetof(struct gg_option_string, prof_log) },
		{ "prof_pid_namespace", offsetof(struct gg_option_string, prof_pid_namespace) },
		{ "prof_stats", offsetof(struct gg_option_string, prof_stats) },
		{ "prof_sys_thread_name", offsetof(struct gg_option_string, prof_sys_thread_name) },
		{ "prof_thread_active_init",
		  offsetof(struct gg_option_string, prof_thread_active_init) },
		{ "prof_unbias", offsetof(struct gg_option_string, prof_unbias) },
	};

	for (size_t i = 0; i < GG_COUNT(switches); i++)
		for (int on = 0; on < 2; on++) {
			char text[60];
			struct told told;
			struct gg_option_string c, expected;

			snprintf(text, sizeof(text), "%s:%s", switches[i].name,
			         on ? "true" : "false");
			c = parse(text, &told);
			gg_option_string_init(&expected);
			((bool *)&expected)[switches[i].at] = on;
			expected.has_active = strcmp(switches[i].name, "prof_active") == 0;
			CHECK_MSG(memcmp(&c, &expected, sizeof(c)) == 0 && told.count == 0, "%s",
			          text);
		}
}

TEST(numbers_are_those_of_c_and_held_at_their_limits)
{
	static const struct {
		const char *text;
		uint64_t sample;
		int64_t interval, recent;
		uint32_t frames;
		int told;
	} rows[] = {
		{ "lg_prof_sample:0", 0, -1, 0, 128, 0 },
		{ "lg_prof_sample:63", 63, -1, 0, 128, 0 },
		{ "lg_prof_sample:64", 63, -1, 0, 128, 0 },
		{ "lg_prof_sample:0x11", 17, -1, 0, 128, 0 },
		{ "lg_prof_sample:021", 17, -1, 0, 128, 0 },
		{ "lg_prof_sample:+5", 5, -1, 0, 128, 0 },
		{ "lg_prof_sample:-1", 63, -1, 0, 128, 0 },
		{ "lg_prof_sample:", 19, -1, 0, 128, 1 },
		{ "lg_prof_sample:12k", 19, -1, 0, 128, 1 },
		{ "lg_prof_sample:0x", 19, -1, 0, 128, 1 },
		{ "lg_prof_sample:08", 19, -1, 0, 128, 1 },
		{ "lg_prof_sample:18446744073709551615", 63, -1, 0, 128, 0 },
		{ "lg_prof_sample:18446744073709551616", 19, -1, 0, 128, 1 },
		{ "lg_prof_interval:0", 19, 0, 0, 128, 0 },
		{ "lg_prof_interval:-1", 19, -1, 0, 128, 0 },
		{ "lg_prof_interval:63", 19, 63, 0, 128, 0 },
		{ "lg_prof_interval:64", 19, -1, 0, 128, 1 },
		{ "lg_prof_interval:-2", 19, -1, 0, 128, 1 },
		{ "prof_recent_alloc_max:-1", 19, -1, -1, 128, 0 },
		{ "prof_recent_alloc_max:9223372036854775807", 19, -1, INT64_MAX, 128, 0 },
		{ "prof_recent_alloc_max:9223372036854775808", 19, -1, 0, 128, 1 },
		{ "prof_bt_max:0", 19, -1, 0, 1, 0 },
		{ "prof_bt_max:77", 19, -1, 0, 77, 0 },
		{ "prof_bt_max:1000000", 19, -1, 0, GG_OPTION_STRING_FRAMES_MAX, 0 },
		{ "lg_prof_sample:12,lg_prof_sample:13", 13, -1, 0, 128, 0 },
		{ "lg_prof_sample:12,lg_prof_sample:x", 12, -1, 0, 128, 1 },
	};

	for (size_t i = 0; i < GG_COUNT(rows); i++) {
		struct told told;
		struct gg_option_string c = parse(rows[i].text, &told);

		CHECK_MSG(c.lg_prof_sample == rows[i].sample &&
		                  c.lg_prof_interval == rows[i].interval &&
		                  c.prof_recent_alloc_max == rows[i].recent &&
		                  c.prof_bt_max == rows[i].frames && told.count == rows[i].told,
		          "%s: %s", rows[i].text, told.text);
	}
}

TEST(keys_of_the_allocator_are_passed_over_in_silence)
{
	struct told told;
	struct gg_option_string c = parse(
		"narenas:4,dirty_decay_ms:-1,prof:true,bin_shards:1-160:4|161-512:8,"
		"junk:what,prof_nothing:1,lg_prof_sample:14",
		&told);

	CHECK(c.prof && c.lg_prof_sample == 14 && c.has_sample && told.count == 0);
}

TEST(what_is_malformed_is_told_once_with_its_form_and_changes_nothing)
{
	static const struct {
		const char *text, *told;
		bool prof; /* what came before holds, and what comes after a bad value */
	} rows[] = {
		{ "prof:yes", "MALLOC_CONF: 'prof:yes' is not true or false; ignored\n", false },
		{ "prof:TRUE", "MALLOC_CONF: 'prof:TRUE' is not true or false; ignored\n", false },
		{ "lg_prof_sample:x,prof:true",
		  "MALLOC_CONF: 'lg_prof_sample:x' is not a number from 0 to 63; ignored\n", true },
		{ "prof:true,prof_final", "MALLOC_CONF: 'prof_final' has no value; ignored\n",
		  true },
		{ "prof:true,", "MALLOC_CONF: 'prof:true,' ends with a comma\n", true },
		{ "prof:true, lg_prof_sample:3",
		  "MALLOC_CONF: ' lg_prof_sample:3' is not KEY:VALUE; it and the rest are ignored\n",
		  true },
		{ "prof=true",
		  "MALLOC_CONF: 'prof=true' is not KEY:VALUE; it and the rest are "
		  "ignored\n",
		  false },
		{ ",prof:true",
		  "MALLOC_CONF: ',prof:true' is not KEY:VALUE; it and the rest are ignored\n",
		  false },
		{ "prof_leak_error:true",
		  "prof_leak_error:true has no effect without prof_final:true\n", false },
		{ "prof_time_resolution:low",
		  "MALLOC_CONF: 'prof_time_resolution:low' is not default or high; ignored\n",
		  false },
	};

	for (size_t i = 0; i < GG_COUNT(rows); i++) {
		struct told told;
		struct gg_option_string c = parse(rows[i].text, &told);

		CHECK_MSG(strcmp(told.text, rows[i].told) == 0 && c.prof == rows[i].prof &&
		                  c.lg_prof_sample == 19,
		          "%s: %s", rows[i].text, told.text);
	}
}

TEST(a_value_is_all_up_to_the_comma_and_a_prefix_is_cut_at_its_limit)
{
	static char text[GG_OPTION_STRING_PREFIX_MAX + 100] = "prof_prefix:";
	struct told told;
	struct gg_option_string c = parse("prof_prefix:/tmp/a:b=c d,prof:true", &told);

	CHECK(strcmp(c.prof_prefix, "/tmp/a:b=c d") == 0 && c.prof);
	c = parse("prof_prefix:", &told);
	CHECK(strcmp(c.prof_prefix, "") == 0 && told.count == 0);
	memset(text + strlen(text), 'p', sizeof(text) - strlen(text) - 1);
	c = parse(text, &told);
	CHECK(strlen(c.prof_prefix) == GG_OPTION_STRING_PREFIX_MAX - 1 && told.count == 0);
}

TEST(a_later_string_overrules_an_earlier_one)
{
	struct told told = { .count = 0 };
	struct gg_option_string c;

	gg_option_string_init(&c);
	gg_option_string_parse(&c, "MALLOC_CONF", "prof:true,lg_prof_sample:10,prof_final:true",
	                       tell, &told);
	gg_option_string_parse(&c, "GEIGER_CONF", "lg_prof_sample:11,prof_final:false", tell,
	                       &told);
	gg_option_string_finish(&c, tell, &told);
	CHECK(c.prof && c.lg_prof_sample == 11 && !c.prof_final && told.count == 0);
}

TEST(a_check_for_leaks_turns_the_profiler_on_without_other_dumps)
{
	struct told told;
	struct gg_option_string c = parse("prof_leak:true,prof_gdump:true,lg_prof_interval:20",
	                                  &told);

	CHECK(c.prof && c.prof_leak && !c.prof_gdump && c.lg_prof_interval == -1);
	c = parse("prof_leak_error:true,prof_final:true", &told);
	CHECK(c.prof && c.prof_leak && c.prof_leak_error && told.count == 0);
	c = parse("prof:true,prof_leak:true,prof_gdump:true", &told);
	CHECK(c.prof_gdump && c.prof_leak);
}
