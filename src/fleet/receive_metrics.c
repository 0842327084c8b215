/* SPDX-License-Identifier: Apache-2.0 */
/* receive_metrics - the counters of a receiver as OpenMetrics, and whether it is well. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "fleet/receive_internal.h"

enum { ILL_SECONDS = 60 };

static void put_counter(struct gg_buf *out, const char *name, const char *help, uint64_t value)
{
	gg_buf_printf(out,
	              "# TYPE geiger_fleet_%s counter\n# HELP geiger_fleet_%s %s\n"
	              "geiger_fleet_%s_total %" PRIu64 "\n",
	              name, name, help, name, value);
}

static void put_gauge(struct gg_buf *out, const char *name, const char *help, uint64_t value)
{
	gg_buf_printf(out,
	              "# TYPE geiger_fleet_%s gauge\n# HELP geiger_fleet_%s %s\n"
	              "geiger_fleet_%s %" PRIu64 "\n",
	              name, name, help, name, value);
}

void gg_receive_metrics(struct gg_receive *receive, struct gg_buf *out)
{
	struct gg_receive_counts counts;
	uint64_t pending_count, pending_bytes;
	bool is_failing;

	pthread_mutex_lock(&receive->mutex);
	counts = receive->counts;
	pending_count = receive->pending.count;
	pending_bytes = receive->pending_bytes;
	is_failing = receive->failing_since_ns != 0;
	pthread_mutex_unlock(&receive->mutex);
	put_counter(out, "slots", "Slots taken.", counts.slots);
	put_counter(out, "slots_repeated", "Slots that came again, and were here already.",
	            counts.repeated);
	put_counter(out, "foreign_looks", "Slots of processes made of profiles of other agents.",
	            counts.foreign_looks);
	put_counter(out, "foreign_spans", "Differences that other agents sent and the disk has.",
	            counts.foreign_spans);
	put_counter(out, "foreign_between", "Profiles of processes whose slot had one already.",
	            counts.foreign_between);
	put_counter(out, "foreign_other", "Profiles of something else than memory.",
	            counts.foreign_other);
	put_counter(out, "foreign_unclear",
	            "Profiles or rows left out, as they would count something twice.",
	            counts.foreign_unclear);
	if (receive->scraper != NULL) {
		struct gg_scraper_counts scraped = gg_scraper_counts_of(receive->scraper);

		put_gauge(out, "scrape_targets", "Targets of --scrape.", scraped.targets);
		put_counter(out, "scrapes", "Profiles fetched.", scraped.fetched);
		put_counter(out, "scrape_errors", "Targets that did not answer.", scraped.errors);
		put_counter(out, "scrape_refused", "Fetched profiles that were not stored.",
		            counts.scrape_refused);
	}
	put_counter(out, "definitions", "Messages with definitions of stacks taken.",
	            counts.definitions);
	put_counter(out, "sealed_rows", "Rows of sealed segments.", counts.rows);
	put_counter(out, "sealed_bytes", "Bytes of sealed segments.", counts.bytes);
	gg_buf_printf(out,
	              "# TYPE geiger_fleet_refused counter\n"
	              "# HELP geiger_fleet_refused Messages that were not taken, by reason.\n"
	              "geiger_fleet_refused_total{reason=\"message\"} %" PRIu64 "\n"
	              "geiger_fleet_refused_total{reason=\"time\"} %" PRIu64 "\n"
	              "geiger_fleet_refused_total{reason=\"access\"} %" PRIu64 "\n"
	              "geiger_fleet_refused_total{reason=\"size\"} %" PRIu64 "\n"
	              "geiger_fleet_refused_total{reason=\"busy\"} %" PRIu64 "\n"
	              "geiger_fleet_refused_total{reason=\"disk\"} %" PRIu64 "\n",
	              counts.refused_bad, counts.refused_old, counts.refused_access,
	              counts.refused_large, counts.refused_busy, counts.failed_disk);
	put_counter(out, "inserted_segments", "Segments that the store has.",
	            counts.inserted_segments);
	put_counter(out, "inserted_rows", "Rows that the store has.", counts.inserted_rows);
	put_counter(out, "skipped_segments",
	            "Segments of an earlier receiver that the store had already.",
	            counts.skipped_by_batch);
	put_counter(out, "insert_errors", "Rounds of inserts that failed.", counts.insert_errors);
	put_counter(out, "set_aside", "Segments that were damaged or refused for good.",
	            counts.set_aside);
	put_gauge(out, "pending_segments", "Segments that wait for the store.", pending_count);
	put_gauge(out, "pending_bytes", "Bytes that wait for the store.", pending_bytes);
	put_gauge(out, "store_failing", "1 while the store takes no rows.", is_failing);
	put_gauge(out, "known_stacks", "Stacks and messages that the receiver remembers.",
	          receive->known.used_count);
	gg_buf_append_text(out, "# EOF\n");
}

unsigned gg_receive_health(struct gg_receive *receive, struct gg_buf *out)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	unsigned status = 200;

	pthread_mutex_lock(&receive->mutex);
	if (receive->pending_bytes > receive->options->queue_bytes)
		status = 503;
	if (receive->failing_since_ns != 0 &&
	    now_ns - receive->failing_since_ns > ILL_SECONDS * GG_NS_PER_S)
		status = 503;
	if (status == 200)
		gg_buf_append_text(out, "ok\n");
	else
		gg_buf_printf(
			out, "%" PRIu64 " bytes wait for the store: %s\n", receive->pending_bytes,
			receive->last_error[0] != '\0' ? receive->last_error : "it is too slow");
	pthread_mutex_unlock(&receive->mutex);
	return status;
}
