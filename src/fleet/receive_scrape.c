/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/receive_scrape.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/time_units.h"
#include "format/codec/json_reader.h"
#include "format/import/input.h"
#include "send/http_get.h"

enum {
	WORKERS = 8,
	GET_SECONDS = 10,
	BODY_MOST = 4 << 20,
	WAITING_MOST = 32 << 20,
	FILE_MOST = 16 << 20,
	SCRAPE_PAUSE_MS = 500,
	SCRAPE_TEXT_MAX = 1024,
};
static const char default_path[] = "/debug/pprof/heap";

struct gg_scraper {
	struct gg_scrape_plan plan;
	pthread_t threads[WORKERS];
	size_t thread_count;
	pthread_mutex_t mutex; /* guards all below */
	pthread_cond_t has_stopped;
	bool is_stopped;
	struct gg_scrape_list targets;
	struct timespec file_time;
	off_t file_bytes;
	bool is_file_bad;
	GG_ARRAY(struct gg_scraped) waiting;
	size_t waiting_bytes;
	struct gg_scraper_counts counts;
};

/* --- the file ------------------------------------------------------------------------------- */

static void free_target(struct gg_scrape_target *target)
{
	if (target == NULL)
		return;
	for (size_t i = 0; i < target->label_count; i++) {
		free((char *)target->labels[i].key);
		free((char *)target->labels[i].value);
	}
	free(target->url);
	free(target->tenant);
	free(target);
}

void gg_scrape_list_done(struct gg_scrape_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free_target(list->items[i]);
	gg_array_done(list);
}

static bool put_label(struct gg_scrape_target *target, const char *key, const char *value)
{
	struct gg_fleet_label label;

	if (target->label_count == GG_SCRAPE_LABELS_MAX)
		return true;
	label = (struct gg_fleet_label){ strdup(key), strdup(value) };
	target->labels[target->label_count++] = label;
	return label.key != NULL && label.value != NULL;
}

static const char *label_of(const struct gg_scrape_target *target, const char *key)
{
	for (size_t i = 0; i < target->label_count; i++)
		if (target->labels[i].key != NULL && strcmp(target->labels[i].key, key) == 0)
			return target->labels[i].value;
	return NULL;
}

static struct gg_scrape_target *copy_target(const struct gg_scrape_target *from)
{
	struct gg_scrape_target *target = calloc(1, sizeof(*target));
	bool is_made = target != NULL;

	if (is_made) {
		target->url = strdup(from->url);
		target->tenant = strdup(from->tenant);
		is_made = target->url != NULL && target->tenant != NULL;
	}
	for (size_t i = 0; is_made && i < from->label_count; i++)
		is_made = put_label(target, from->labels[i].key, from->labels[i].value);
	if (is_made)
		return target;
	free_target(target);
	return NULL;
}

/* Fills in what follows from the target's address and labels. */
static bool finish_target(struct gg_scrape_target *target, const char *address)
{
	const char *path = label_of(target, "__metrics_path__");
	const char *scheme = label_of(target, "__scheme__");
	const char *tenant = label_of(target, "__tenant__"), *job = label_of(target, "job");
	GG_CLEANUP(gg_buf_done) struct gg_buf url = { 0 };

	gg_buf_printf(&url, "%s://%s%s", scheme != NULL ? scheme : "http", address,
	              path != NULL && path[0] == '/' ? path : default_path);
	if (url.failed)
		return false;
	target->url = strdup(gg_buf_text(&url));
	target->tenant = strdup(tenant != NULL ? tenant : "");
	if (label_of(target, "instance") == NULL && !put_label(target, "instance", address))
		return false;
	if (job != NULL && label_of(target, "service_name") == NULL &&
	    !put_label(target, "service_name", job))
		return false;
	return target->url != NULL && target->tenant != NULL;
}

/* An object of the list: its labels belong to all of its targets. */
struct target_group {
	struct gg_scrape_target labels;
	GG_ARRAY(char *) addresses;
};

static void free_group(struct target_group *group)
{
	for (size_t i = 0; i < group->addresses.count; i++)
		free(group->addresses.items[i]);
	gg_array_done(&group->addresses);
	for (size_t i = 0; i < group->labels.label_count; i++) {
		free((char *)group->labels.labels[i].key);
		free((char *)group->labels.labels[i].value);
	}
}

static bool read_group(struct gg_json_reader *json, struct target_group *group)
{
	char key[SCRAPE_TEXT_MAX], text[SCRAPE_TEXT_MAX];

	while (gg_json_reader_member(json, key, sizeof(key))) {
		if (strcmp(key, "targets") == 0) {
			if (!gg_json_reader_open(json, '['))
				return false;
			while (gg_json_reader_item(json)) {
				char *address;

				if (!gg_json_reader_text(json, text, sizeof(text)))
					return false;
				address = strdup(text);
				if (address == NULL || !gg_array_push(&group->addresses, address)) {
					free(address);
					return false;
				}
			}
		} else if (strcmp(key, "labels") == 0) {
			if (!gg_json_reader_open(json, '{'))
				return false;
			while (gg_json_reader_member(json, key, sizeof(key)))
				if (!gg_json_reader_text(json, text, sizeof(text)) ||
				    !put_label(&group->labels, key, text))
					return false;
		} else {
			gg_json_reader_skip(json);
		}
	}
	return !json->failed;
}

static bool add_targets(struct gg_scrape_list *list, const struct target_group *group)
{
	for (size_t i = 0; i < group->addresses.count; i++) {
		const char *address = group->addresses.items[i];
		struct gg_scrape_target *target = calloc(1, sizeof(*target));
		bool is_made = target != NULL && list->count < GG_SCRAPE_TARGETS_MAX &&
		               address[0] != '\0';

		for (size_t k = 0; is_made && k < group->labels.label_count; k++)
			is_made = put_label(target, group->labels.labels[k].key,
			                    group->labels.labels[k].value);
		if (!is_made || !finish_target(target, address) || !gg_array_push(list, target)) {
			free_target(target);
			return false;
		}
	}
	return true;
}

int gg_scrape_list_read(struct gg_scrape_list *ret_list, const char *text, size_t length,
                        struct gg_error *error)
{
	struct gg_json_reader json = { .at = text, .end = text + length };
	struct gg_scrape_list list = { 0 };
	bool is_good = gg_json_reader_open(&json, '[');

	while (is_good && gg_json_reader_item(&json)) {
		struct target_group group = { 0 };

		is_good = gg_json_reader_open(&json, '{') && read_group(&json, &group) &&
		          add_targets(&list, &group);
		free_group(&group);
	}
	if (is_good && !json.failed) {
		*ret_list = list;
		return 0;
	}
	gg_scrape_list_done(&list);
	return gg_error_set(error, -EBADMSG, "fleet receive: --scrape",
	                    "Write [{\"targets\": [\"HOST:PORT\"], \"labels\": {}}].",
	                    "the file is no list of targets as JSON, or has more than %d of them",
	                    GG_SCRAPE_TARGETS_MAX);
}

static int read_file(struct gg_scrape_list *ret_list, const char *path, struct gg_error *error)
{
	struct gg_input *input = NULL;
	const uint8_t *bytes;
	size_t length;
	int status = gg_input_open(&input, path, error);

	if (status < 0)
		return status;
	status = gg_input_all(input, FILE_MOST, &bytes, &length, error);
	if (status == 0)
		status = gg_scrape_list_read(ret_list, (const char *)bytes, length, error);
	gg_input_close(input);
	return status;
}

/* --- when ----------------------------------------------------------------------------------- */

static uint64_t now_seconds(void)
{
	return gg_clock_wall_ns() / GG_NS_PER_S;
}

/* The target's moment in the slot after a time: targets spread over a tenth of it. */
static uint64_t next_due(const struct gg_scraper *scraper, const struct gg_scrape_target *target,
                         uint64_t after_s)
{
	uint64_t seconds = scraper->plan.slot_seconds, tenth = seconds / 10 + 1;

	return after_s - after_s % seconds + seconds +
	       gg_hash_bytes(target->url, strlen(target->url), 1) % tenth;
}

/* Targets that stay keep their moments. */
static void take_list(struct gg_scraper *scraper, struct gg_scrape_list *list)
{
	struct gg_map by_url = { 0 };
	uint64_t seed = gg_map_seed(&by_url);

	for (size_t i = 0; i < scraper->targets.count; i++) {
		const char *url = scraper->targets.items[i]->url;

		if (gg_map_put(&by_url, gg_hash_bytes(url, strlen(url), seed), i) < 0)
			break;
	}
	for (size_t i = 0; i < list->count; i++) {
		const char *url = list->items[i]->url;
		uint64_t old = gg_map_get(&by_url, gg_hash_bytes(url, strlen(url), seed));

		if (old != GG_MAP_NONE)
			list->items[i]->due_s = scraper->targets.items[old]->due_s;
	}
	gg_map_done(&by_url);
	gg_scrape_list_done(&scraper->targets);
	scraper->targets = *list;
	scraper->counts.targets = list->count;
}

/* Reads the file if it changed.  With the mutex. */
static void look_at_file(struct gg_scraper *scraper)
{
	struct gg_scrape_list list = { 0 };
	struct gg_error error = { 0 };
	struct stat file;
	int status;

	if (stat(scraper->plan.file, &file) < 0)
		memset(&file, 0, sizeof(file));
	if (file.st_mtim.tv_sec == scraper->file_time.tv_sec &&
	    file.st_mtim.tv_nsec == scraper->file_time.tv_nsec &&
	    file.st_size == scraper->file_bytes)
		return;
	scraper->file_time = file.st_mtim;
	scraper->file_bytes = file.st_size;
	status = read_file(&list, scraper->plan.file, &error);
	if (status == 0) {
		take_list(scraper, &list);
	} else if (!scraper->is_file_bad && scraper->plan.tell != NULL) {
		char text[400];

		snprintf(text, sizeof(text), "%.100s: %.250s", scraper->plan.file, error.message);
		scraper->plan.tell(text, scraper->plan.context);
	}
	scraper->is_file_bad = status < 0;
}

/* --- threads -------------------------------------------------------------------------------- */

/* Copies a target that is due, and marks it.  NULL: no target is due. */
static struct gg_scrape_target *next_target(struct gg_scraper *scraper)
{
	uint64_t now_s = now_seconds();

	if (scraper->waiting_bytes > WAITING_MOST)
		return NULL;
	for (size_t i = 0; i < scraper->targets.count; i++) {
		struct gg_scrape_target *target = scraper->targets.items[i];
		struct gg_scrape_target *copy;

		if (target->due_s > now_s)
			continue;
		copy = copy_target(target);
		if (copy != NULL)
			target->due_s = next_due(scraper, target, now_s);
		return copy;
	}
	return NULL;
}

/* A target that did not answer is due again before its next slot. */
static void note_failure(struct gg_scraper *scraper, const struct gg_scrape_target *target)
{
	uint64_t again_s = now_seconds() + scraper->plan.slot_seconds / 10 + 1;

	scraper->counts.errors++;
	for (size_t i = 0; i < scraper->targets.count; i++)
		if (strcmp(scraper->targets.items[i]->url, target->url) == 0 &&
		    scraper->targets.items[i]->due_s > again_s)
			scraper->targets.items[i]->due_s = again_s;
}

static void fetch(struct gg_scraper *scraper, struct gg_scrape_target *target)
{
	struct gg_scraped scraped = { .target = target };
	struct gg_error error = { 0 };
	int status;

	pthread_mutex_unlock(&scraper->mutex);
	status = gg_http_get(target->url, BODY_MOST, GET_SECONDS, &scraped.body, &error);
	pthread_mutex_lock(&scraper->mutex);
	if (status == 0)
		scraper->counts.fetched++;
	else
		note_failure(scraper, target);
	if (status == 0 && gg_array_push(&scraper->waiting, scraped))
		scraper->waiting_bytes += scraped.body.length;
	else
		gg_scraped_done(&scraped);
}

static void *work(void *context)
{
	struct gg_scraper *scraper = context;

	pthread_mutex_lock(&scraper->mutex);
	while (!scraper->is_stopped) {
		struct gg_scrape_target *target;
		struct timespec until;

		look_at_file(scraper);
		target = next_target(scraper);
		if (target != NULL) {
			fetch(scraper, target);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += SCRAPE_PAUSE_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&scraper->has_stopped, &scraper->mutex, &until);
	}
	pthread_mutex_unlock(&scraper->mutex);
	return NULL;
}

int gg_scraper_new(struct gg_scraper **ret_scraper, const struct gg_scrape_plan *plan,
                   struct gg_error *error)
{
	struct gg_scraper *scraper = calloc(1, sizeof(*scraper));
	struct gg_scrape_list list = { 0 };
	int status;

	if (scraper == NULL)
		return gg_error_memory(error, "fleet receive");
	scraper->plan = *plan;
	pthread_mutex_init(&scraper->mutex, NULL);
	pthread_cond_init(&scraper->has_stopped, NULL);
	/* A mistake in the file is one of the command at its start. */
	status = read_file(&list, plan->file, error);
	if (status == 0)
		take_list(scraper, &list);
	while (status == 0 && scraper->thread_count < WORKERS) {
		if (pthread_create(&scraper->threads[scraper->thread_count], NULL, work, scraper) !=
		    0)
			status = gg_error_set(error, -EAGAIN, "fleet receive", NULL,
			                      "a thread does not start");
		else
			scraper->thread_count++;
	}
	if (status < 0)
		gg_scraper_free(scraper);
	else
		*ret_scraper = scraper;
	return status;
}

bool gg_scraper_take(struct gg_scraper *scraper, struct gg_scraped *ret_scraped)
{
	bool has_one;

	pthread_mutex_lock(&scraper->mutex);
	has_one = scraper->waiting.count > 0;
	if (has_one) {
		*ret_scraped = scraper->waiting.items[--scraper->waiting.count];
		scraper->waiting_bytes -= ret_scraped->body.length;
	}
	pthread_mutex_unlock(&scraper->mutex);
	return has_one;
}

void gg_scraped_done(struct gg_scraped *scraped)
{
	free_target(scraped->target);
	gg_buf_done(&scraped->body);
	scraped->target = NULL;
}

struct gg_scraper_counts gg_scraper_counts_of(struct gg_scraper *scraper)
{
	struct gg_scraper_counts counts;

	pthread_mutex_lock(&scraper->mutex);
	counts = scraper->counts;
	pthread_mutex_unlock(&scraper->mutex);
	return counts;
}

void gg_scraper_free(struct gg_scraper *scraper)
{
	if (scraper == NULL)
		return;
	pthread_mutex_lock(&scraper->mutex);
	scraper->is_stopped = true;
	pthread_cond_broadcast(&scraper->has_stopped);
	pthread_mutex_unlock(&scraper->mutex);
	for (size_t i = 0; i < scraper->thread_count; i++)
		pthread_join(scraper->threads[i], NULL);
	for (size_t i = 0; i < scraper->waiting.count; i++)
		gg_scraped_done(&scraper->waiting.items[i]);
	gg_array_done(&scraper->waiting);
	gg_scrape_list_done(&scraper->targets);
	pthread_cond_destroy(&scraper->has_stopped);
	pthread_mutex_destroy(&scraper->mutex);
	free(scraper);
}
