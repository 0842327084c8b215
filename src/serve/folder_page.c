/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_page - the list of a folder's profiles.
 *
 * The page has no script.  Headings are links that sort, the filter and the choice of two profiles
 * are forms, and a list whose summaries are not complete refreshes itself.
 */
#include "serve/folder_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/size.h"
#include "base/time_units.h"
#include "base/utf8.h"
#include "page/page.h"
#include "report/report.h"

enum { FOLDER_PAGE_ROWS = 200 };

static const struct column {
	const char *name, *title;
	bool is_descending, is_number;
} columns[GG_FOLDER_COLUMN_COUNT] = {
	[GG_FOLDER_WHEN] = { "when", "Recorded", true, false },
	[GG_FOLDER_COMMAND] = { "command", "Command", false, false },
	[GG_FOLDER_DURATION] = { "duration", "Duration", true, true },
	[GG_FOLDER_LIVE] = { "live", "Live at the end", true, true },
	[GG_FOLDER_PEAK] = { "peak", "Peak", true, true },
	[GG_FOLDER_GROWTH] = { "growth", "Since the last", true, true },
};

const char *gg_folder_column_name(int column)
{
	return columns[column].name;
}

bool gg_folder_column_descends(enum gg_folder_column column)
{
	return columns[column].is_descending;
}

/* --- texts ---------------------------------------------------------------------------------- */

/*
 * Appends `text` as the text of an element or of a quoted attribute.  Control characters and bytes
 * that are not UTF-8 become U+FFFD.
 */
static void append_html(const char *text, struct gg_buf *out)
{
	while (*text != '\0') {
		size_t length = gg_utf8_length((const unsigned char *)text);
		unsigned char c = (unsigned char)*text;

		if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
			gg_buf_printf(out, "&#%u;", c);
		else if (length == 0 || c < 0x20 || c == 0x7f)
			gg_buf_append_text(out, "\xef\xbf\xbd");
		else
			gg_buf_append(out, text, length);
		text += length > 0 ? length : 1;
	}
}

static int64_t time_of(const struct gg_library_entry *entry)
{
	return entry->summary != NULL && entry->summary->start_ns > 0 ? entry->summary->start_ns
	                                                              : entry->changed_ns;
}

static void append_time(const struct gg_library_entry *entry, struct gg_buf *out)
{
	time_t seconds = (time_t)(time_of(entry) / GG_NS_PER_S);
	char when[32] = "";
	struct tm moment;

	if (localtime_r(&seconds, &moment) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &moment);
	gg_buf_append_text(out, when);
}

/* --- growth --------------------------------------------------------------------------------- */

struct growth {
	double before, after;
	double percent; /* NAN: there was nothing before */
	bool is_significant;
};

/*
 * Compares the peak, or live memory without one, with the last profile of the same command.
 * Errors of the two are independent.  Returns false if the command has no earlier
 * profile with a summary.
 */
static bool find_growth(const struct gg_library_entry *entry, struct growth *ret_growth)
{
	const struct gg_library_entry *before = entry->predecessor;
	const struct gg_profile_summary *now = entry->summary;
	const struct gg_figure *from, *to;
	bool has_peak;
	double error;

	if (before == NULL || now == NULL || before->summary == NULL)
		return false;
	has_peak = now->has_peak && before->summary->has_peak;
	from = has_peak ? &before->summary->peak : &before->summary->live;
	to = has_peak ? &now->peak : &now->live;
	error = to->estimate > from->estimate
	                ? hypot(to->estimate - to->low, from->high - from->estimate)
	                : hypot(to->high - to->estimate, from->estimate - from->low);
	*ret_growth = (struct growth){
		.before = from->estimate,
		.after = to->estimate,
		.percent = from->estimate > 0 ? 100 * (to->estimate / from->estimate - 1) : NAN,
		.is_significant = fabs(to->estimate - from->estimate) > error,
	};
	return true;
}

static void append_growth(const struct gg_library_entry *entry, struct gg_buf *out)
{
	struct growth growth;
	const struct gg_figure_style style = { 0 };

	if (!find_growth(entry, &growth))
		return;
	gg_buf_append_text(out, "<a href=\"/page?profile=");
	gg_page_append_escaped(entry->name, out);
	gg_buf_append_text(out, "&amp;before=");
	gg_page_append_escaped(entry->predecessor->name, out);
	gg_buf_printf(out, "\" class=\"%s\" title=\"",
	              !growth.is_significant         ? "same"
	              : growth.after > growth.before ? "more"
	                                             : "less");
	gg_figure_append_number(&style, growth.before, GG_BYTES, out);
	gg_buf_append_text(out, " in ");
	append_html(entry->predecessor->name, out);
	gg_buf_printf(out, "%s\">", growth.is_significant ? "" : "; within sampling error");
	gg_figure_append_growth(growth.before, growth.after, out);
	gg_buf_append_text(out, "</a>");
}

/* --- order ---------------------------------------------------------------------------------- */

struct row {
	const struct gg_library_entry *entry;
	enum gg_folder_column column;
	bool is_descending;
};

static const char *command_of(const struct gg_library_entry *entry)
{
	return entry->summary != NULL && entry->summary->command != NULL ? entry->summary->command
	                                                                 : entry->name;
}

/* Returns the value that rows are sorted by; NAN: it is not known. */
static double value_of(const struct gg_library_entry *entry, enum gg_folder_column column)
{
	const struct gg_profile_summary *summary = entry->summary;
	struct growth growth;

	if (column == GG_FOLDER_WHEN)
		return (double)time_of(entry);
	if (summary == NULL || summary->problem != NULL)
		return NAN;
	if (column == GG_FOLDER_GROWTH)
		return !find_growth(entry, &growth) ? NAN
		       : isnan(growth.percent)      ? INFINITY
		                                    : growth.percent;
	if (column == GG_FOLDER_PEAK)
		return summary->has_peak ? summary->peak.estimate : NAN;
	return column == GG_FOLDER_LIVE ? summary->live.estimate : (double)summary->duration_ns;
}

/* Rows without a value are last in either order.  Among equal rows the newest is first. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	double first, second;
	int order;

	if (left->column == GG_FOLDER_COMMAND) {
		order = strcmp(command_of(left->entry), command_of(right->entry));
	} else {
		first = value_of(left->entry, left->column);
		second = value_of(right->entry, right->column);
		if (isnan(first) != isnan(second))
			return isnan(first) ? 1 : -1;
		order = (first > second) - (first < second);
	}
	if (order != 0)
		return left->is_descending ? -order : order;
	first = (double)time_of(left->entry);
	second = (double)time_of(right->entry);
	return first != second ? (first < second ? 1 : -1)
	                       : strcmp(left->entry->name, right->entry->name);
}

static bool is_wanted(const struct gg_library_entry *entry, const char *filter)
{
	return filter == NULL || filter[0] == '\0' ||
	       strcasestr(command_of(entry), filter) != NULL ||
	       strcasestr(entry->name, filter) != NULL;
}

/* Returns the rows that match the filter, sorted; the caller frees them.  NULL: out of memory. */
static struct row *sort_rows(const struct gg_library_entry *entries, size_t count,
                             const struct gg_folder_view *view, size_t *ret_count)
{
	struct row *rows = calloc(count + 1, sizeof(*rows));

	*ret_count = 0;
	for (size_t i = 0; rows != NULL && i < count; i++)
		if (is_wanted(&entries[i], view->filter))
			rows[(*ret_count)++] = (struct row){ &entries[i], view->column,
				                             view->is_descending };
	if (rows != NULL)
		qsort(rows, *ret_count, sizeof(*rows), compare_rows);
	return rows;
}

/* --- the page ------------------------------------------------------------------------------- */

static const char style_sheet[] =
	"<style>"
	":root{--page:#fff;--bar:#f6f7f8;--line:#dcdfe3;--text:#1b1f24;--soft:#5a636e;"
	"--accent:#0b5fa5;--accent-text:#fff;--more:#c2410c;--less:#0369a1;color-scheme:light}"
	"@media(prefers-color-scheme:dark){:root{--page:#14171b;--bar:#1b1f24;--line:#333a42;"
	"--text:#e4e7eb;--soft:#a4adb8;--accent:#69b1ea;--accent-text:#0d1116;--more:#f0834c;"
	"--less:#5bb8ec;color-scheme:dark}}"
	"*{box-sizing:border-box}"
	"body{margin:0;background:var(--page);color:var(--text);font:13px/1.45 system-ui,\"Segoe UI\","
	"\"DejaVu Sans\",Arial,sans-serif;font-variant-numeric:tabular-nums}"
	"header{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:6px 12px;"
	"background:var(--bar);border-bottom:1px solid var(--line)}"
	".brand{font-weight:650}h1{font-size:15px;margin:0;flex:1;overflow-wrap:anywhere}"
	"input[type=search]{font:inherit;height:28px;width:220px;padding:2px 8px;color:inherit;"
	"border:1px solid var(--line);border-radius:4px;background:var(--page)}"
	"button{font:inherit;min-height:28px;padding:2px 10px;color:inherit;cursor:pointer;"
	"border:1px solid var(--line);border-radius:4px;background:var(--page)}"
	"button.main{background:var(--accent);border-color:var(--accent);color:var(--accent-text)}"
	"a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}"
	":focus-visible{outline:2px solid var(--accent);outline-offset:1px}"
	"p{margin:8px 12px;color:var(--soft)}"
	"table{border-collapse:collapse;width:100%}"
	"th,td{padding:5px 12px;text-align:left;border-bottom:1px solid var(--line)}"
	"th{background:var(--page);position:sticky;top:0;white-space:nowrap}"
	"th a{color:var(--soft)}th[aria-sort=ascending] a,th[aria-sort=descending] a{"
	"color:var(--text)}"
	"tbody tr:hover{background:var(--bar)}"
	".n{text-align:right;white-space:nowrap}td.f{white-space:pre;text-align:right;"
	"font:12px/1.45 ui-monospace,\"DejaVu Sans Mono\",Menlo,monospace}"
	".c{font:12px/1.45 ui-monospace,\"DejaVu Sans Mono\",Menlo,monospace;overflow-wrap:anywhere}"
	".soft,.same{color:var(--soft)}.more{color:var(--more)}.less{color:var(--less)}"
	"td .soft{display:block;font-size:11px;overflow-wrap:anywhere}"
	".w,.pick{white-space:nowrap;width:1px}"
	"footer{position:sticky;bottom:0;display:flex;flex-wrap:wrap;align-items:center;gap:8px 16px;"
	"padding:6px 12px;background:var(--bar);border-top:1px solid var(--line);color:var(--soft)}"
	"@media(max-width:720px){thead{display:block}thead tr{display:flex;flex-wrap:wrap;"
	"gap:0 12px;padding:4px 12px}th{position:static;border:0;padding:2px 0}th.pick{display:none}"
	"table,tbody{display:block}tbody tr{display:block;padding:6px 12px;"
	"border-bottom:1px solid var(--line)}td{border:0;padding:0;display:block;width:auto}"
	"td.n,td.f{text-align:left;white-space:normal}"
	"td[data-l]:not(:empty)::before{content:attr(data-l) \": \";color:var(--soft);"
	"font-family:system-ui,sans-serif}"
	"td.pick{float:right;width:auto}input[type=search]{width:100%}"
	"header form{width:100%;display:flex;gap:8px}}"
	"</style>";

static void append_order(const struct gg_folder_view *view, enum gg_folder_column column,
                         bool is_descending, size_t page, struct gg_buf *out)
{
	gg_buf_printf(out, "/?sort=%s&amp;order=%c", columns[column].name,
	              is_descending ? 'd' : 'a');
	if (page > 0)
		gg_buf_printf(out, "&amp;page=%zu", page);
	if (view->filter != NULL && view->filter[0] != '\0') {
		gg_buf_append_text(out, "&amp;q=");
		gg_page_append_escaped(view->filter, out);
	}
}

static void append_head(const char *title, const struct gg_folder_view *view, struct gg_buf *out)
{
	gg_buf_append_text(out,
	                   "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	                   "<meta name=\"viewport\" content=\"width=device-width, "
	                   "initial-scale=1\">\n");
	if (view->missing > 0) {
		gg_buf_append_text(out, "<meta http-equiv=\"refresh\" content=\"1;url=");
		append_order(view, view->column, view->is_descending, view->page, out);
		gg_buf_append_text(out, "\">\n");
	}
	gg_buf_append_text(out, style_sheet);
	gg_buf_append_text(out, "<title>");
	append_html(title, out);
	gg_buf_append_text(
		out,
		" - geiger</title></head><body><header><span class=\"brand\">geiger</span><h1>");
	append_html(title, out);
	gg_buf_printf(
		out,
		"</h1><form action=\"/\" role=\"search\"><input type=\"hidden\" name=\"sort\" "
		"value=\"%s\"><input type=\"hidden\" name=\"order\" value=\"%c\"><input "
		"type=\"search\" name=\"q\" placeholder=\"Filter\" accesskey=\"/\" "
		"aria-label=\"Filter by command or file\" value=\"",
		columns[view->column].name, view->is_descending ? 'd' : 'a');
	append_html(view->filter != NULL ? view->filter : "", out);
	gg_buf_append_text(out, "\"> <button>Filter</button></form></header>\n");
}

static void append_headings(const struct gg_folder_view *view, struct gg_buf *out)
{
	gg_buf_append_text(out, "<table><thead><tr><th class=\"pick\">Compare</th>");
	for (int i = 0; i < GG_FOLDER_COLUMN_COUNT; i++) {
		bool is_sorted = (int)view->column == i;
		bool next = is_sorted ? !view->is_descending : columns[i].is_descending;

		gg_buf_printf(out, "<th%s%s><a href=\"", columns[i].is_number ? " class=\"n\"" : "",
		              !is_sorted            ? ""
		              : view->is_descending ? " aria-sort=\"descending\""
		                                    : " aria-sort=\"ascending\"");
		append_order(view, (enum gg_folder_column)i, next, 0, out);
		gg_buf_printf(out, "\">%s%s</a></th>", columns[i].title,
		              !is_sorted            ? ""
		              : view->is_descending ? " \xe2\x96\xbe"
		                                    : " \xe2\x96\xb4");
	}
	gg_buf_append_text(out, "</tr></thead><tbody>\n");
}

static bool is_unreadable(const struct gg_library_entry *entry)
{
	return entry->summary != NULL && entry->summary->problem != NULL;
}

/* Radio buttons that choose the two profiles of a comparison. */
static void append_choice(const struct gg_library_entry *entry, bool is_first, bool is_second,
                          struct gg_buf *out)
{
	static const char *const names[] = { "before", "profile" };

	gg_buf_append_text(out, "<td class=\"pick\">");
	for (int i = 0; i < 2 && !is_unreadable(entry); i++) {
		gg_buf_printf(out, "<input type=\"radio\" name=\"%s\" required value=\"", names[i]);
		append_html(entry->name, out);
		gg_buf_printf(out, "\" title=\"%s\" aria-label=\"%s: ", i == 0 ? "before" : "after",
		              i == 0 ? "before" : "after");
		append_html(entry->name, out);
		gg_buf_append_text(out, (i == 0 ? is_second : is_first) ? "\" checked>" : "\">");
	}
	gg_buf_append_text(out, "</td>");
}

static void append_command(const struct gg_library_entry *entry, struct gg_buf *out)
{
	char size[GG_SIZE_TEXT_MAX];
	const char *problem = entry->summary != NULL ? entry->summary->problem : NULL;

	gg_buf_append_text(out, "<td class=\"c\"><a href=\"/page?profile=");
	gg_page_append_escaped(entry->name, out);
	gg_buf_append_text(out, "\">");
	append_html(command_of(entry), out);
	gg_buf_append_text(out, "</a><span class=\"soft\">");
	append_html(entry->name, out);
	gg_buf_printf(out, " \xc2\xb7 %s%s", gg_size_format((double)entry->bytes, size),
	              entry->is_live ? " \xc2\xb7 just written" : "");
	if (problem != NULL) {
		gg_buf_append_text(out, " \xc2\xb7 ");
		append_html(problem, out);
	}
	gg_buf_append_text(out, "</span></td>");
}

/* How the figures of the two columns are aligned. */
struct figure_columns {
	struct gg_figure_column live, peak;
};

static void append_figure(const struct gg_figure_column *column, const char *label,
                          const struct gg_figure *figure, struct gg_buf *out)
{
	const struct gg_figure_style style = { 0 };

	gg_buf_printf(out, "<td class=\"f\" data-l=\"%s\">", label);
	if (figure != NULL) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_figure_column_append(&style, column, figure, &text);
		append_html(gg_buf_text(&text), out);
	}
	gg_buf_append_text(out, "</td>");
}

static void append_row(const struct gg_library_entry *entry, const struct figure_columns *figures,
                       bool is_first, bool is_second, struct gg_buf *out)
{
	const struct gg_profile_summary *summary = entry->summary;
	bool is_known = summary != NULL && summary->problem == NULL;

	gg_buf_append_text(out, "<tr>");
	append_choice(entry, is_first, is_second, out);
	gg_buf_append_text(out, "<td class=\"w\">");
	append_time(entry, out);
	gg_buf_append_text(out, "</td>");
	append_command(entry, out);
	gg_buf_append_text(out, "<td class=\"n\" data-l=\"Duration\">");
	if (is_known)
		gg_report_append_time(summary->duration_ns, out);
	else if (summary == NULL)
		gg_buf_append_text(out, "\xe2\x80\xa6");
	gg_buf_append_text(out, "</td>");
	append_figure(&figures->live, "Live", is_known ? &summary->live : NULL, out);
	append_figure(&figures->peak, "Peak", is_known && summary->has_peak ? &summary->peak : NULL,
	              out);
	gg_buf_append_text(out, "<td class=\"n\" data-l=\"Since the last\">");
	append_growth(entry, out);
	gg_buf_append_text(out, "</td></tr>\n");
}

/* Fits the two columns of figures to their rows.  False: out of memory. */
static bool fit_figures(const struct row *rows, size_t count, struct figure_columns *ret_columns)
{
	const struct gg_figure_style style = { 0 };
	struct gg_figure *live = calloc(2 * count + 1, sizeof(*live)), *peak;
	size_t live_count = 0, peak_count = 0;

	if (live == NULL)
		return false;
	peak = live + count;
	for (size_t i = 0; i < count; i++) {
		const struct gg_profile_summary *summary = rows[i].entry->summary;

		if (summary == NULL || summary->problem != NULL)
			continue;
		live[live_count++] = summary->live;
		if (summary->has_peak)
			peak[peak_count++] = summary->peak;
	}
	ret_columns->live = gg_figure_column_of(&style, live, live_count);
	ret_columns->peak = gg_figure_column_of(&style, peak, peak_count);
	free(live);
	return true;
}

/* Links to the other pages of a long list. */
static void append_pages(const struct gg_folder_view *view, size_t row_count, struct gg_buf *out)
{
	size_t pages = (row_count + FOLDER_PAGE_ROWS - 1) / FOLDER_PAGE_ROWS;

	if (pages < 2)
		return;
	gg_buf_append_text(out, "<nav aria-label=\"Pages\">");
	for (size_t i = 0; i < pages; i++) {
		if (i == view->page) {
			gg_buf_printf(out, " <strong aria-current=\"page\">%zu</strong>", i + 1);
			continue;
		}
		gg_buf_append_text(out, " <a href=\"");
		append_order(view, view->column, view->is_descending, i, out);
		gg_buf_printf(out, "\">%zu</a>", i + 1);
	}
	gg_buf_append_text(out, "</nav>");
}

static void append_rows(const struct row *rows, size_t row_count, const struct gg_folder_view *view,
                        struct gg_buf *out)
{
	size_t first = view->page * FOLDER_PAGE_ROWS, last, readable = 0;
	struct figure_columns figures;

	if (first >= row_count)
		first = 0;
	last = row_count - first > FOLDER_PAGE_ROWS ? first + FOLDER_PAGE_ROWS : row_count;
	if (!fit_figures(rows + first, last - first, &figures)) {
		out->failed = true;
		return;
	}
	gg_buf_append_text(out, "<form action=\"/page\">");
	append_headings(view, out);
	for (size_t i = first; i < last; i++) {
		append_row(rows[i].entry, &figures, readable == 0, readable == 1, out);
		readable += !is_unreadable(rows[i].entry);
	}
	gg_buf_append_text(out, "</tbody></table><footer><button class=\"main\">Compare the two "
	                        "chosen</button>");
	gg_buf_printf(out, "<span>%zu profile%s%s</span>", row_count, row_count == 1 ? "" : "s",
	              view->missing > 0 ? ", still reading" : "");
	append_pages(view, row_count, out);
	gg_buf_append_text(out, "</footer></form>\n");
}

void gg_folder_page_html(const char *title, const struct gg_library_entry *entries, size_t count,
                         const struct gg_folder_view *view, struct gg_buf *out)
{
	size_t row_count;
	struct row *rows = sort_rows(entries, count, view, &row_count);

	if (rows == NULL) {
		out->failed = true;
		return;
	}
	append_head(title, view, out);
	if (count == 0)
		gg_buf_append_text(out, "<p>There are no profiles here (*.geiger).</p>\n");
	else if (row_count == 0)
		gg_buf_append_text(out, "<p>No profile matches the filter.</p>\n");
	else
		append_rows(rows, row_count, view, out);
	gg_buf_append_text(out, "</body></html>\n");
	free(rows);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void add_summary(const struct gg_library_entry *entry, struct gg_json *json)
{
	const struct gg_profile_summary *summary = entry->summary;

	if (summary == NULL || summary->problem != NULL)
		return;
	gg_json_text(json, "command", summary->command);
	gg_json_number(json, "start_seconds", (double)(summary->start_ns / GG_NS_PER_MS) * 1e-3);
	gg_json_number(json, "duration_ns", (double)summary->duration_ns);
	gg_report_json_figure(json, "live_bytes", &summary->live);
	if (summary->has_peak)
		gg_report_json_figure(json, "peak_bytes", &summary->peak);
	if (entry->predecessor != NULL)
		gg_json_text(json, "predecessor", entry->predecessor->name);
}

void gg_folder_page_json(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out)
{
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_text(&json, "title", title);
	gg_json_open(&json, "profiles", '[');
	for (size_t i = 0; i < count; i++) {
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "name", entries[i].name);
		gg_json_integer(&json, "bytes", entries[i].bytes);
		gg_json_number(&json, "changed_seconds",
		               (double)(entries[i].changed_ns / GG_NS_PER_MS) * 1e-3);
		gg_json_bool(&json, "is_live", entries[i].is_live);
		add_summary(&entries[i], &json);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
