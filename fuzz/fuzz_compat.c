/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile option strings and names of mallctl(): no crash, no read outside; what is taken is within
 * its limits, and a name's numbers lead back to its row.
 */
#include <stdlib.h>
#include <string.h>

#include "compat/jemalloc/ctl_table.h"
#include "compat/jemalloc/option_string.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void tell(void *context, const char *line)
{
	(void)context;
	require(strlen(line) > 0 && strlen(line) < 400);
}

static void options(const char *text)
{
	struct gg_option_string *conf = malloc(sizeof(*conf));

	require(conf != NULL);
	gg_option_string_init(conf);
	gg_option_string_parse(conf, "MALLOC_CONF", text, tell, NULL);
	gg_option_string_finish(conf, tell, NULL);
	require(conf->lg_prof_sample <= 63);
	require(conf->lg_prof_interval >= -1 && conf->lg_prof_interval <= 63);
	require(conf->prof_recent_alloc_max >= -1);
	require(conf->prof_bt_max >= 1 && conf->prof_bt_max <= GG_OPTION_STRING_FRAMES_MAX);
	require(strnlen(conf->prof_prefix, sizeof(conf->prof_prefix)) < sizeof(conf->prof_prefix));
	free(conf);
}

static void names(const char *text)
{
	for (size_t room = 0; room <= GG_CTL_NAMES_DEPTH; room++) {
		size_t mib[GG_CTL_NAMES_DEPTH], depth = room;
		bool is_known;
		int entry = gg_ctl_names_find(&gg_ctl_table_names, text, mib, &depth, &is_known);

		require(depth <= room && (entry < 0 || is_known));
		require(entry < 0 || gg_ctl_names_of(&gg_ctl_table_names, mib, depth) == entry);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	size_t mib[GG_CTL_NAMES_DEPTH] = { 0 };

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	options(text);
	names(text);
	memcpy(mib, data, size < sizeof(mib) ? size : sizeof(mib));
	for (size_t depth = 0; depth <= GG_CTL_NAMES_DEPTH; depth++)
		gg_ctl_names_of(&gg_ctl_table_names, mib, depth);
	free(text);
	return 0;
}
