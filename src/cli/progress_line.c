/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_line - draws the line with the control characters of a terminal (cli/progress_line.h).
 *
 * GEIGER_PROGRESS_MS, a number of milliseconds, replaces the second after which a line appears.
 */
#include "cli/progress_line.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/time_units.h"

/* The time between two changes.  A line that appears at once, in a test, shows each report. */
#define CHANGE_NS (100 * GG_NS_PER_MS)

static bool is_forbidden;
/* True from a line's first report to its end.  Its release pairs with the next line's acquire. */
static bool is_taken;

void gg_progress_line_forbid(void)
{
	is_forbidden = true;
}

enum { AMOUNT_MAX = 32 };

/* Formats "40 %", or without a total "12", "12.3 k", "12.3 M". */
static const char *format_amount(uint64_t done, uint64_t total, char amount[AMOUNT_MAX])
{
	if (total > 0)
		snprintf(amount, AMOUNT_MAX, "%.0f %%",
		         100 * (double)(done < total ? done : total) / (double)total);
	else if (done < 10000)
		snprintf(amount, AMOUNT_MAX, "%d", (int)done);
	else
		snprintf(amount, AMOUNT_MAX, "%.1f %c", (double)done / (done < 1000000 ? 1e3 : 1e6),
		         done < 1000000 ? 'k' : 'M');
	return amount;
}

/* Notes the time of the first report.  False: another line is there. */
static bool begin(struct gg_progress_line *line)
{
	if (!line->has_begun && gg_exchange_acq_rel(&is_taken, true))
		return false;
	if (!line->has_begun)
		line->next_ns = line->now_ns() + line->after_ns;
	line->has_begun = true;
	return true;
}

static void report(void *context, uint64_t done, uint64_t total, const char *what)
{
	struct gg_progress_line *line = context;
	char text[120], amount[AMOUNT_MAX];
	uint64_t now_ns;

	if (line->out == NULL || !begin(line))
		return;
	now_ns = line->now_ns();
	if (now_ns < line->next_ns)
		return;
	line->next_ns = now_ns + (line->after_ns < CHANGE_NS ? line->after_ns : CHANGE_NS);
	line->is_shown = true;
	/* One write does not flicker.  The last characters erase the rest of a longer line. */
	snprintf(text, sizeof(text), "\rgeiger: %.60s ... %s\033[K", what,
	         format_amount(done, total, amount));
	fputs(text, line->out);
	fflush(line->out);
}

static void end(void *context)
{
	gg_progress_line_end(context);
}

void gg_progress_line_init_on(struct gg_progress_line *line, FILE *out, uint64_t (*now_ns)(void),
                              uint64_t after_ns)
{
	*line = (struct gg_progress_line){ .progress = { report, end, line },
		                           .out = out,
		                           .now_ns = now_ns,
		                           .after_ns = after_ns };
}

/* False for a terminal that does not understand the characters that erase a line. */
static bool can_erase(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

static uint64_t wait_ns(void)
{
	const char *text = getenv("GEIGER_PROGRESS_MS");

	return text != NULL ? strtoul(text, NULL, 10) * GG_NS_PER_MS : GG_NS_PER_S;
}

void gg_progress_line_init(struct gg_progress_line *line)
{
	gg_progress_line_init_on(line, !is_forbidden && can_erase() ? stderr : NULL,
	                         gg_clock_monotonic_ns, wait_ns());
}

void gg_progress_line_end(struct gg_progress_line *line)
{
	if (line->is_shown) {
		fputs("\r\033[K", line->out);
		fflush(line->out);
	}
	if (line->has_begun)
		gg_store_release(&is_taken, false);
	line->has_begun = line->is_shown = false;
}
