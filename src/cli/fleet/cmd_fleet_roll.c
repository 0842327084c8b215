/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_roll - `geiger fleet roll`: sums of hours and days, and the end of old rows. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/size.h"
#include "cli/fleet/fleet_ask.h"
#include "cli/fleet/fleet_verbs.h"
#include "fleet/fleet_retention.h"
#include "fleet/fleet_rollup.h"

struct roll_options {
	struct gg_fleet_place place;
	struct gg_option_pairs keep;
	uint64_t max_bytes, least_free_bytes;
	const char *now;
	double settle_seconds;
	bool dry_run;
};

/* Reads an age such as 7d. */
static bool parse_age(const char *text, uint32_t *ret_age_s)
{
	static const struct {
		char unit;
		double seconds;
	} units[] = { { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 }, { 'y', 31557600 } };
	char *end;
	double value = strtod(text, &end);

	if (end == text || end[0] == '\0' || end[1] != '\0' || !(value > 0))
		return false;
	for (size_t i = 0; i < GG_COUNT(units); i++)
		if (units[i].unit == *end && value * units[i].seconds < UINT32_MAX) {
			*ret_age_s = (uint32_t)(value * units[i].seconds);
			return true;
		}
	return false;
}

static int refuse_keep(const char *text, struct gg_error *error)
{
	return gg_error_set(error, -EINVAL, "fleet roll: --keep",
	                    "Give ages such as raw=7d,hours=90d,days=3y.",
	                    "'%s' is not one of them", text);
}

/* Reads one "raw=7d". */
static int parse_kind(const char *kind, const char *age, struct gg_fleet_retention *plan,
                      struct gg_error *error)
{
	static const char *const kinds[GG_FLEET_KIND_COUNT] = { "raw", "hours", "days" };

	for (int i = 0; i < GG_FLEET_KIND_COUNT; i++)
		if (strcmp(kind, kinds[i]) == 0)
			return parse_age(age, &plan->keep_s[i]) ? 0 : refuse_keep(age, error);
	return refuse_keep(kind, error);
}

/* A pair has the first kind as its key; the others follow in its value, after commas. */
static int parse_keep(const struct gg_option_pairs *keep, struct gg_fleet_retention *plan,
                      struct gg_error *error)
{
	int status = 0;

	for (size_t i = 0; i < keep->count && status == 0; i++) {
		char *text = strdup(keep->pairs[i].value), *left = text;
		const char *kind = keep->pairs[i].key;

		if (text == NULL)
			return gg_error_memory(error, "fleet roll");
		for (char *part = strsep(&left, ","); part != NULL && status == 0;
		     part = strsep(&left, ",")) {
			char *age = part;

			if (part != text) {
				kind = strsep(&age, "=");
				if (age == NULL)
					status = refuse_keep(part, error);
			}
			if (status == 0)
				status = parse_kind(kind, age, plan, error);
		}
		free(text);
	}
	return status;
}

/* The bytes that are missing to --min-free on the disk of a store of this machine. */
static int find_missing(const struct roll_options *options, uint64_t *ret_bytes,
                        struct gg_error *error)
{
	const char *place = options->place.store != NULL ? options->place.store
	                                                 : getenv("GEIGER_FLEET_STORE");
	struct statvfs disk;
	uint64_t available;

	*ret_bytes = 0;
	if (options->least_free_bytes == 0)
		return 0;
	if (place == NULL || strchr(place, '/') == NULL || strncmp(place, "http", 4) == 0 ||
	    statvfs(place, &disk) < 0)
		return gg_error_set(error, -EINVAL, "fleet roll: --min-free",
		                    "Use --max-size for a store at an address.",
		                    "needs a store in a directory of this machine");
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (available < options->least_free_bytes)
		*ret_bytes = options->least_free_bytes - available;
	return 0;
}

static void print_rolled(const struct gg_fleet_rolled *rolled, bool is_dry_run, double seconds)
{
	printf("%s %zu hour%s (%llu raw rows) and %zu day%s", is_dry_run ? "would roll" : "rolled",
	       rolled->hour_count, rolled->hour_count == 1 ? "" : "s",
	       (unsigned long long)rolled->raw_row_count, rolled->day_count,
	       rolled->day_count == 1 ? "" : "s");
	if (!is_dry_run && rolled->hour_count > 0)
		printf(" in %.1f s: %.2g rows/s", seconds, (double)rolled->raw_row_count / seconds);
	puts("");
	if (rolled->failed_count > 0)
		printf("%zu of them failed; their rows stay\n", rolled->failed_count);
}

static void print_dropped(const struct gg_fleet_dropped *dropped, bool is_dry_run)
{
	char size[GG_SIZE_TEXT_MAX], kept[GG_SIZE_TEXT_MAX];

	for (size_t i = 0; i < dropped->partitions.count; i++) {
		const struct gg_fleet_partition *partition = &dropped->partitions.items[i];
		GG_CLEANUP(gg_buf_done) struct gg_buf end = { 0 };

		gg_fleet_append_time(partition->end_s, &end);
		printf("%s %s up to %s: %llu rows, %s\n", is_dry_run ? "would drop" : "dropped",
		       partition->table, gg_buf_text(&end),
		       (unsigned long long)partition->row_count,
		       gg_size_format((double)partition->bytes, size));
	}
	printf("%s %s; %s stay\n", is_dry_run ? "that would free" : "freed",
	       gg_size_format((double)dropped->bytes, size),
	       gg_size_format((double)dropped->kept_bytes, kept));
	if (dropped->is_short)
		puts("that is not enough, but the last two days stay, and rows that are not added up");
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int run_store(const struct roll_options *options, struct gg_clickhouse *store,
                     uint32_t now_s, struct gg_fleet_retention *retention, struct gg_error *error)
{
	const struct gg_fleet_roll_plan plan = { .tenant = gg_cli_fleet_tenant(&options->place),
		                                 .now_s = now_s,
		                                 .settle_s = (uint32_t)options->settle_seconds,
		                                 .is_dry_run = options->dry_run };
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped dropped = { 0 };
	struct gg_fleet_rolled rolled;
	double begin = now_seconds();
	struct gg_error dropping = { 0 };
	int failed = gg_fleet_roll(store, &plan, &rolled, error), status;

	/* Rows that are added up may go even if others failed: a full disk may be the cause. */
	if (failed < 0 && rolled.failed_count == 0)
		return failed;
	if (failed < 0) {
		retention->unrolled_hour_s = rolled.first_hour_s;
		retention->unrolled_day_s = rolled.first_day_s;
	}
	print_rolled(&rolled, options->dry_run, now_seconds() - begin);
	fflush(stdout);
	if (options->keep.count == 0 && retention->max_bytes == 0 && options->least_free_bytes == 0)
		return failed;
	retention->tenant = plan.tenant;
	retention->now_s = now_s;
	retention->is_dry_run = options->dry_run;
	status = gg_fleet_retain(store, retention, &dropped, failed < 0 ? &dropping : error);
	if (status == 0)
		print_dropped(&dropped, options->dry_run);
	return failed < 0 ? failed : status;
}

static int run(struct gg_invocation *invocation)
{
	const struct roll_options *options = invocation->options;
	struct gg_fleet_retention retention = { .max_bytes = options->max_bytes };
	struct gg_clickhouse store = { 0 };
	uint32_t now_s = (uint32_t)time(NULL);
	int status = parse_keep(&options->keep, &retention, invocation->error);

	if (status == 0 && options->now != NULL)
		status = gg_cli_fleet_time(options->now, "fleet roll", "now", &now_s,
		                           invocation->error);
	if (status == 0 && !(options->settle_seconds < 1e6))
		status = gg_error_set(invocation->error, -EINVAL, "fleet roll: --settle", NULL,
		                      "%g seconds are too many", options->settle_seconds);
	if (status == 0)
		status = find_missing(options, &retention.free_bytes, invocation->error);
	if (status == 0)
		status = gg_cli_fleet_open(&options->place, &store, invocation->error);
	if (status == 0)
		status = run_store(options, &store, now_s, &retention, invocation->error);
	gg_clickhouse_done(&store);
	return status;
}

#define AT(field) offsetof(struct roll_options, field)

static const struct gg_option options[] = {
	{ "keep", 0, GG_OPTION_PAIRS, AT(keep), "KIND=AGE",
	  "how long rows stay: raw=7d,hours=90d,days=3y" },
	{ "max-size", 0, GG_OPTION_SIZE, AT(max_bytes), "SIZE",
	  "drop old rows until all tables have this size" },
	{ "min-free", 0, GG_OPTION_SIZE, AT(least_free_bytes), "SIZE",
	  "drop old rows until so much disk is free" },
	{ "dry-run", 'n', GG_OPTION_FLAG, AT(dry_run), NULL,
	  "change nothing; say what would be done" },
	{ "settle", 0, GG_OPTION_TIME, AT(settle_seconds), "TIME",
	  "roll an hour so long after its end (20m)" },
	{ "now", 0, GG_OPTION_TEXT, AT(now), "TIME", "take this time for now" },
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_roll = {
	.name = "fleet roll",
	.summary = "add up hours and days, and drop old rows",
	.usage = "[--keep raw=7d,hours=90d,days=3y] [OPTION]...",
	.details =
		"Adds the samples of each hour and day up, so that questions about long times\n"
		"are quick and need no raw rows.  It can be repeated: hours that late slots\n"
		"changed are added up again.  Run it every hour.  Rows are dropped only with\n"
		"--keep, --max-size or --min-free, as whole partitions, and after they were added\n"
		"up.\n"
		"\n"
		"  geiger fleet roll --keep raw=7d,hours=90d,days=3y --dry-run\n",
	.options = options,
	.options_size = sizeof(struct roll_options),
	.option_defaults = &(const struct roll_options){ .settle_seconds = 1200 },
	.run = run,
	.variables = GG_READS_FLEET,
};
