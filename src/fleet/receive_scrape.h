/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_scrape - fetches the heap profiles of a list of targets, once in a slot.
 *
 *   status = gg_scraper_new(&scraper, &plan, error);
 *   while (gg_scraper_take(scraper, &fetched)) {          the thread that stores, now and then
 *           ... fetched.body, fetched.labels ...
 *           gg_scraped_done(&fetched);
 *   }
 *   gg_scraper_free(scraper);
 *
 * File     of Prometheus' service discovery by files, as JSON: a list of objects with `targets`,
 *          texts "HOST:PORT", and `labels`.  It is read again when it changes; a file that cannot
 *          be read leaves the targets as they are.
 * Labels   `instance` is the target, and `service_name` is `job`, unless the file has them.
 *          __metrics_path__ is the path, /debug/pprof/heap by default, and __tenant__ the tenant.
 * When     soon after the end of each slot, at a moment of the target's own in its first tenth.  A
 *          target that did not answer has its next turn after a tenth of a slot.
 * Limits   GET_SECONDS and BODY_MOST for a target; WORKERS at once; what waits to be stored has
 *          WAITING_MOST bytes.
 * Threads  Its own ones fetch; any one thread takes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_ids.h"

enum { GG_SCRAPE_LABELS_MAX = 40, GG_SCRAPE_TARGETS_MAX = 20000 };

struct gg_scrape_target {
	char *url, *tenant; /* tenant: "" unless a label names one */
	struct gg_fleet_label labels[GG_SCRAPE_LABELS_MAX];
	size_t label_count;
	uint64_t due_s; /* when it is fetched next; 0: at once */
};

struct gg_scrape_list {
	struct gg_scrape_target **items;
	size_t count, capacity;
};

/* -EBADMSG: it is no such file, or beyond a limit; -ENOMEM. */
GG_MUST_CHECK int gg_scrape_list_read(struct gg_scrape_list *ret_list, const char *text,
                                      size_t length, struct gg_error *error);
void gg_scrape_list_done(struct gg_scrape_list *list);

struct gg_scraped {
	struct gg_scrape_target *target; /* a copy */
	struct gg_buf body;
};
void gg_scraped_done(struct gg_scraped *scraped);

struct gg_scrape_plan {
	const char *file;
	uint32_t slot_seconds;
	void (*tell)(const char *text, void *context); /* by one thread at a time */
	void *context;
};

struct gg_scraper;

GG_MUST_CHECK int gg_scraper_new(struct gg_scraper **ret_scraper, const struct gg_scrape_plan *plan,
                                 struct gg_error *error);
bool gg_scraper_take(struct gg_scraper *scraper, struct gg_scraped *ret_scraped);
void gg_scraper_free(struct gg_scraper *scraper); /* waits for its threads; NULL is fine */

struct gg_scraper_counts {
	uint64_t targets, fetched, errors;
};
struct gg_scraper_counts gg_scraper_counts_of(struct gg_scraper *scraper);
