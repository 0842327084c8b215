/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_fleet_rules - `geiger fleet rules`: evaluates alert rules, and prints Prometheus text.
 *
 * A rule is a line: its name, and a question in the words of the other commands.  An alert is
 * significant: the rows of a rule are tested together, and the chance that any of them alerts
 * without cause is at most --rate, or of deviating hosts and grown functions the share of those
 * without cause.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "cli/fleet/fleet_pair.h"
#include "cli/fleet/fleet_verbs.h"
#include "cli/pager.h"
#include "fleet/fleet_compare.h"
#include "fleet/fleet_extend.h"
#include "stats/estimate/interval.h"

/* A snapshot begins up to two slots ago, plus what the way to the store takes. */
enum { RULE_MAX_BYTES = 4096, RULE_WORDS_MAX = 64, EXIT_ALERT = 3, FRESH_SLOTS = 3 };

struct rules_options {
	struct gg_fleet_place place;
	const char *output;
	const char *now;
	bool fail_on_alert;
};

/* The options of a rule. */
struct rule_options {
	struct gg_fleet_ask_options ask;   /* first, because the helpers read it */
	uint64_t above_bytes, below_bytes; /* UINT64_MAX: not given */
	bool deviates;
	const char *before, *after; /* versions */
	double rate;
};

struct alert_rule {
	const char *name, *service; /* point into the line */
	struct rule_options options;
};

/* The lines of each family of metrics. */
struct families {
	struct gg_buf evaluated, snapshot, delay, rows, alerts, threshold, value, low, high, alert;
	size_t alert_count, failed_count;
	uint32_t now_s;
};

static void families_done(struct families *families)
{
	gg_buf_done(&families->evaluated);
	gg_buf_done(&families->snapshot);
	gg_buf_done(&families->delay);
	gg_buf_done(&families->rows);
	gg_buf_done(&families->alerts);
	gg_buf_done(&families->threshold);
	gg_buf_done(&families->value);
	gg_buf_done(&families->low);
	gg_buf_done(&families->high);
	gg_buf_done(&families->alert);
}

/* --- Prometheus text ------------------------------------------------------------------------- */

/* `label` and `value` name the row of a rule; label NULL: the rule has one number. */
static void append_sample(const struct alert_rule *rule, const char *name, const char *label,
                          const char *value, double number, struct gg_buf *out)
{
	gg_buf_printf(out, "geiger_rule_%s{rule=\"", name);
	gg_buf_append_label(out, rule->name);
	gg_buf_append_text(out, "\",service=\"");
	gg_buf_append_label(out, rule->service);
	if (label != NULL) {
		gg_buf_append_text(out, "\",label=\"");
		gg_buf_append_label(out, label);
		gg_buf_append_text(out, "\",value=\"");
		gg_buf_append_label(out, value);
	}
	if (isinf(number))
		gg_buf_append_text(out, number > 0 ? "\"} +Inf\n" : "\"} -Inf\n");
	else
		gg_buf_printf(out, "\"} %.17g\n", number);
}

static void append_family(const char *name, const char *help, const struct gg_buf *lines,
                          struct gg_buf *out)
{
	if (lines->length == 0)
		return;
	gg_buf_printf(out, "# HELP geiger_rule_%s %s\n# TYPE geiger_rule_%s gauge\n", name, help,
	              name);
	gg_buf_append(out, lines->data, lines->length);
}

static void append_all(const struct families *families, struct gg_buf *out)
{
	append_family("evaluated", "1: the store answered the rule's question.",
	              &families->evaluated, out);
	append_family("snapshot_time_seconds", "The slot of the snapshot that the rule is about.",
	              &families->snapshot, out);
	append_family("replica_delay_seconds",
	              "Seconds by which the replica that answered the rule is behind the others.",
	              &families->delay, out);
	append_family("rows", "Rows that the rule tested together.", &families->rows, out);
	append_family("alerts", "Rows that alert.", &families->alerts, out);
	append_family("threshold_bytes", "The limit of the rule.", &families->threshold, out);
	append_family("value_bytes", "The estimate of a row.", &families->value, out);
	append_family("low_bytes", "The lower end of its confidence interval.", &families->low,
	              out);
	append_family("high_bytes", "The upper end of its confidence interval.", &families->high,
	              out);
	append_family("alert", "1: the row is significantly beyond the rule's limit.",
	              &families->alert, out);
}

static void add_alert(struct families *families, const struct alert_rule *rule, const char *label,
                      const char *value)
{
	families->alert_count++;
	append_sample(rule, "alert", label, value, 1, &families->alert);
}

/* --- reading --------------------------------------------------------------------------------- */

#define AT(field)  offsetof(struct rule_options, field)
#define ASK(field) offsetof(struct gg_fleet_ask_options, field)

static const struct gg_option rule_table[] = {
	{ "above", 0, GG_OPTION_SIZE, AT(above_bytes), "SIZE", "alert if memory is above it" },
	{ "below", 0, GG_OPTION_SIZE, AT(below_bytes), "SIZE", "alert if memory is below it" },
	{ "deviates", 0, GG_OPTION_FLAG, AT(deviates), NULL,
	  "alert if a host is unlike the others" },
	{ "before", 0, GG_OPTION_TEXT, AT(before), "VERSION", "alert if a function grew since it" },
	{ "after", 0, GG_OPTION_TEXT, AT(after), "VERSION", "the version that is compared" },
	{ "rate", 0, GG_OPTION_NUMBER, AT(rate), "P", "chance of a false alert (0.05)" },
	GG_OPTIONS_SHARED(gg_cli_fleet_metric_options, 0),
	{ "by-label", 0, GG_OPTION_TEXT, ASK(common.by_label), "KEY",
	  "a row is a value of this label, such as host" },
	{ "version", 'v', GG_OPTION_TEXT, ASK(version), "NAME", "only this version" },
	GG_OPTIONS_SHARED(gg_cli_fleet_scope_options, 0),
	GG_OPTIONS_SHARED(gg_cli_fleet_time_options, 0),
	GG_OPTIONS_SHARED(gg_cli_stack_options, ASK(common)),
	GG_OPTIONS_SHARED(gg_cli_confidence_options, ASK(common)),
	GG_OPTIONS_END,
};

/* Splits a line into words at blanks.  Quotes of either kind hold blanks.  -EINVAL: one is open. */
static int split_words(char *line, char **words, size_t *ret_count)
{
	char *to = line;
	size_t count = 0;

	while (*line != '\0') {
		char quote = '\0';

		while (isspace((unsigned char)*line))
			line++;
		if (*line == '\0' || (*line == '#' && count == 0))
			break;
		if (count == RULE_WORDS_MAX)
			return -EINVAL;
		words[count++] = to;
		for (; *line != '\0' && (quote != '\0' || !isspace((unsigned char)*line)); line++) {
			if (*line == quote)
				quote = '\0';
			else if (quote == '\0' && (*line == '\'' || *line == '"'))
				quote = *line;
			else
				*to++ = *line;
		}
		if (quote != '\0')
			return -EINVAL;
		/* Step over the blank first: the end of the word may take its place. */
		if (*line != '\0')
			line++;
		*to++ = '\0';
	}
	*ret_count = count;
	return 0;
}

static int check_rule(const struct alert_rule *rule, struct gg_error *error)
{
	const struct rule_options *options = &rule->options;
	int kinds = (options->above_bytes != UINT64_MAX) + (options->below_bytes != UINT64_MAX) +
	            options->deviates + (options->before != NULL || options->after != NULL);

	if (kinds != 1)
		return gg_error_set(error, -EINVAL, rule->name, NULL,
		                    "needs one of --above, --below, --deviates, or --before with "
		                    "--after");
	if ((options->before == NULL) != (options->after == NULL))
		return gg_error_set(error, -EINVAL, rule->name, NULL,
		                    "--before and --after belong together");
	if (options->ask.common.unit != GG_BYTES)
		return gg_error_set(error, -EINVAL, rule->name, NULL, "rules are about bytes");
	if (options->ask.common.by_label != NULL && (options->deviates || options->before != NULL))
		return gg_error_set(error, -EINVAL, rule->name, NULL,
		                    "--by-label is for --above and --below");
	if (!(options->rate > 0 && options->rate < 0.5))
		return gg_error_set(error, -EINVAL, rule->name, "Give a number such as 0.05.",
		                    "--rate %g is not between 0 and 0.5", options->rate);
	return 0;
}

/* Reads a line; *ret_is_rule is false for blank lines and comments. */
static int read_rule(char *line, const struct rules_options *common, struct alert_rule *rule,
                     bool *ret_is_rule, struct gg_error *error)
{
	const struct gg_option_set set = { rule_table, &rule->options };
	char *words[RULE_WORDS_MAX];
	size_t count;
	int status = split_words(line, words, &count);

	*rule = (struct alert_rule){ .options = { .ask = { GG_FLEET_ASK_DEFAULTS },
		                                  .above_bytes = UINT64_MAX,
		                                  .below_bytes = UINT64_MAX,
		                                  .rate = 0.05 } };
	*ret_is_rule = status == 0 && count > 0;
	if (status < 0)
		return gg_error_set(error, -EINVAL, "fleet rules", NULL,
		                    "a quote is open, or the line has too many words");
	if (count == 0)
		return 0;
	status = gg_options_parse(&set, 1, GG_OPTIONS_ANYWHERE, (int)count, words, error);
	if (status < 0)
		return status;
	if (status != 2)
		return gg_error_set(
			error, -EINVAL, "fleet rules", "A line is NAME SERVICE [OPTION]...",
			"the line has %d words that are no options, and not two", status);
	rule->name = words[0];
	rule->service = words[1];
	rule->options.ask.place = common->place;
	return check_rule(rule, error);
}

/* --- evaluation ------------------------------------------------------------------------------ */

/*
 * A rule without times is about now.  If the service's newest snapshot is old, the service is gone
 * or the store lacks its slots: neither an alert nor its absence would be true.
 */
static int check_fresh(const struct alert_rule *rule, const struct gg_asked_fleet *answer,
                       struct families *families, struct gg_error *error)
{
	const struct gg_fleet_ask_options *ask = &rule->options.ask;
	const struct gg_fleet_scope *scope = &answer->scope;
	uint64_t reach_s = (uint64_t)FRESH_SLOTS * answer->question.slot_length_s;
	GG_CLEANUP(gg_buf_done) struct gg_buf last = { 0 };

	if (!scope->is_latest)
		return 0;
	append_sample(rule, "snapshot_time_seconds", NULL, "", scope->moment_s,
	              &families->snapshot);
	if (ask->at != NULL || ask->since != NULL || ask->until != NULL ||
	    answer->question.when != GG_FLEET_AT_END ||
	    scope->moment_s + reach_s >= families->now_s)
		return 0;
	gg_fleet_append_time(scope->moment_s, &last);
	return gg_error_set(error, -ENODATA, "fleet rules",
	                    "Give the rule a time, such as --since 1d, if it is about the past.",
	                    "service '%s' was last seen at %s UTC, more than %d slots ago",
	                    rule->service, gg_buf_text(&last), FRESH_SLOTS);
}

/*
 * Reports how far the replica is behind.  If it may lack a whole slot, neither an alert nor its
 * absence would be true.
 */
static int check_delay(const struct alert_rule *rule, const struct gg_asked_fleet *answer,
                       struct families *families, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf note = { 0 };

	append_sample(rule, "replica_delay_seconds", NULL, "", (double)answer->delay_s,
	              &families->delay);
	if (!gg_cli_fleet_append_delay(answer->delay_s, &note))
		return 0;
	if (answer->delay_s >= answer->question.slot_length_s)
		return gg_error_set(error, -ENODATA, "fleet rules",
		                    "Ask another replica, or wait until this one has its rows.",
		                    "the replica is %" PRIu64
		                    " seconds behind the others, so it may lack a slot",
		                    answer->delay_s);
	fprintf(stderr, "geiger: rule %s: note: %s\n", rule->name, gg_buf_text(&note));
	return 0;
}

/* The rows of a rule with the error that their intervals must hold, at one confidence. */
static int query_at(const struct alert_rule *rule, struct gg_asked_fleet *answer, double confidence,
                    struct gg_query_result **ret_result, struct gg_error *error)
{
	int status = gg_query_rows(answer->model, &answer->query, ret_result, error);

	if (status < 0)
		return status;
	status = gg_cli_fleet_extend(answer, &rule->options.ask, *ret_result, confidence, error);
	if (status < 0) {
		gg_query_result_free(*ret_result);
		*ret_result = NULL;
	}
	return status;
}

/* A row's own tally, or that of all. */
static const struct gg_tally *tally_of(const struct gg_query_result *result, bool by_label,
                                       size_t row)
{
	return by_label ? result->rows[row].self : &result->total;
}

/*
 * Each of m rows is tested one-sidedly at rate / m, so the chance of any false alert is at most the
 * rate.  The test is the end of an interval with twice that outside.
 */
static int test_rows(const struct alert_rule *rule, struct gg_asked_fleet *answer,
                     struct families *families, struct gg_error *error)
{
	const struct rule_options *options = &rule->options;
	const char *label = options->ask.common.by_label;
	double confidence = options->ask.common.confidence, strict;
	struct gg_query_result *shown = NULL, *tested = NULL;
	int status = query_at(rule, answer, confidence, &shown, error);
	size_t count = label != NULL && status == 0 ? shown->row_count : 1, alerts = 0;

	strict = 1 - 2 * options->rate / (double)(count > 0 ? count : 1);
	if (status == 0)
		status = query_at(rule, answer, strict, &tested, error);
	for (size_t i = 0; i < count && status == 0; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf value = { 0 };
		const struct gg_tally *tally = tally_of(shown, label != NULL, i);
		struct gg_interval figure = gg_interval_of(tally, GG_BYTES, confidence, false);
		struct gg_interval test = gg_interval_of(tally_of(tested, label != NULL, i),
		                                         GG_BYTES, strict, false);

		if (label != NULL)
			gg_query_row_label(answer->model, shown, &shown->rows[i], &value);
		append_sample(rule, "value_bytes", label, gg_buf_text(&value),
		              gg_tally_estimate(tally, GG_BYTES).value, &families->value);
		append_sample(rule, "low_bytes", label, gg_buf_text(&value), figure.low,
		              &families->low);
		append_sample(rule, "high_bytes", label, gg_buf_text(&value), figure.high,
		              &families->high);
		if (options->above_bytes != UINT64_MAX ? test.low > (double)options->above_bytes
		                                       : test.high < (double)options->below_bytes) {
			alerts++;
			add_alert(families, rule, label, gg_buf_text(&value));
		}
	}
	gg_query_result_free(shown);
	gg_query_result_free(tested);
	if (status < 0)
		return status;
	append_sample(rule, "threshold_bytes", NULL, "",
	              (double)(options->above_bytes != UINT64_MAX ? options->above_bytes
	                                                          : options->below_bytes),
	              &families->threshold);
	append_sample(rule, "rows", NULL, "", (double)count, &families->rows);
	append_sample(rule, "alerts", NULL, "", (double)alerts, &families->alerts);
	return 0;
}

static int test_hosts(const struct alert_rule *rule, const struct gg_asked_fleet *answer,
                      struct families *families, struct gg_error *error)
{
	struct gg_fleet_outlier *outliers = NULL;
	struct gg_query_result *result;
	size_t alerts = 0;
	int status = gg_query_rows(answer->model, &answer->query, &result, error);

	if (status < 0)
		return status;
	outliers = calloc(result->row_count + 1, sizeof(*outliers));
	for (size_t i = 0; i < result->row_count && outliers != NULL; i++) {
		struct gg_estimate estimate = gg_tally_estimate(result->rows[i].self, GG_BYTES);

		outliers[i].value = estimate.value;
		outliers[i].variance = estimate.variance;
	}
	if (outliers == NULL || gg_fleet_find_outliers(outliers, result->row_count) < 0)
		status = gg_error_memory(error, "fleet rules");
	for (size_t i = 0; i < result->row_count && status == 0; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf value = { 0 };

		if (!(outliers[i].q_value <= rule->options.rate))
			continue;
		alerts++;
		gg_query_row_label(answer->model, result, &result->rows[i], &value);
		append_sample(rule, "value_bytes", "host", gg_buf_text(&value), outliers[i].value,
		              &families->value);
		add_alert(families, rule, "host", gg_buf_text(&value));
	}
	if (status == 0) {
		append_sample(rule, "rows", NULL, "", (double)result->row_count, &families->rows);
		append_sample(rule, "alerts", NULL, "", (double)alerts, &families->alerts);
	}
	free(outliers);
	gg_query_result_free(result);
	return status;
}

static int test_growth(const struct alert_rule *rule, struct families *families,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_cli_fleet_pair_done) struct gg_fleet_pair pair = { 0 };
	struct gg_fleet_ask_options before = rule->options.ask, after = rule->options.ask;
	int status;

	before.version = rule->options.before;
	after.version = rule->options.after;
	status = gg_cli_fleet_pair(&pair, &before, &after, rule->service, rule->options.rate,
	                           error);

	/* The version before may be gone. */
	if (status == 0)
		status = check_delay(rule, &pair.before.answer, families, error);
	if (status == 0)
		status = check_fresh(rule, &pair.after.answer, families, error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < pair.diff->row_count; i++) {
		const struct gg_diff_row *row = &pair.diff->rows[i];

		if (!row->is_significant || !(row->difference.value > 0))
			continue;
		append_sample(rule, "value_bytes", "function", row->label, row->difference.value,
		              &families->value);
		append_sample(rule, "low_bytes", "function", row->label, row->difference.low,
		              &families->low);
		append_sample(rule, "high_bytes", "function", row->label, row->difference.high,
		              &families->high);
		add_alert(families, rule, "function", row->label);
	}
	append_sample(rule, "rows", NULL, "", (double)pair.diff->row_count, &families->rows);
	append_sample(rule, "alerts", NULL, "", (double)pair.diff->grown_count, &families->alerts);
	return 0;
}

static int evaluate(struct alert_rule *rule, struct families *families, struct gg_error *error)
{
	GG_CLEANUP(gg_cli_asked_fleet_done) struct gg_asked_fleet answer = { 0 };
	struct gg_fleet_ask_options *ask = &rule->options.ask;
	int status;

	if (rule->options.before != NULL)
		return test_growth(rule, families, error);
	if (rule->options.deviates)
		ask->common.by_label = "host";
	ask->by_host = ask->common.by_label != NULL && strcmp(ask->common.by_label, "host") == 0;
	ask->joins_draws = !ask->by_host;
	status = gg_cli_fleet_ask(&answer, ask, rule->service, "fleet rules", error);
	answer.fleet.is_between_hosts = status == 0 && !ask->by_host &&
	                                gg_fleet_is_drawn(&answer.scope);
	if (status == 0)
		status = check_delay(rule, &answer, families, error);
	if (status == 0)
		status = check_fresh(rule, &answer, families, error);
	if (status == 0)
		status = gg_cli_fleet_model(&answer, ask, error);
	if (status < 0)
		return status;
	return rule->options.deviates ? test_hosts(rule, &answer, families, error)
	                              : test_rows(rule, &answer, families, error);
}

/* A rule that cannot be evaluated does not keep the others from it. */
static void evaluate_or_say(struct alert_rule *rule, struct families *families)
{
	struct gg_error error = { 0 };
	char line[GG_ERROR_LINE_MAX];
	int status = evaluate(rule, families, &error);

	append_sample(rule, "evaluated", NULL, "", status == 0, &families->evaluated);
	if (status == 0)
		return;
	families->failed_count++;
	gg_error_format(&error, line, sizeof(line));
	fprintf(stderr, "geiger: rule %s: %s\n", rule->name, line);
}

/* Two rules with one name and service would print the same sample twice. */
static int check_new(struct gg_map *known, const struct alert_rule *rule, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf both = { 0 };
	uint64_t id;

	gg_buf_printf(&both, "%s\n%s", rule->name, rule->service);
	id = gg_fleet_service_id(gg_buf_text(&both));
	if (gg_map_get(known, id) != GG_MAP_NONE)
		return gg_error_set(error, -EINVAL, "fleet rules",
		                    "Give each rule of a service a name of its own.",
		                    "service '%s' has the rule '%s' already", rule->service,
		                    rule->name);
	return both.failed || gg_map_put(known, id, 0) < 0 ? gg_error_memory(error, "fleet rules")
	                                                   : 0;
}

static int read_file(const char *path, const struct rules_options *options,
                     struct families *families, bool only_check, struct gg_error *error)
{
	GG_CLEANUP(gg_map_done) struct gg_map known = { 0 };
	FILE *file = fopen(path, "r");
	char line[RULE_MAX_BYTES];
	unsigned number = 0;
	int status = 0;

	if (file == NULL)
		return gg_error_set_errno(error, errno, path, NULL);
	while (status == 0 && fgets(line, sizeof(line), file) != NULL) {
		struct alert_rule rule;
		bool is_rule = false;

		number++;
		if (strchr(line, '\n') == NULL && !feof(file))
			status = gg_error_set(error, -EINVAL, path, NULL, "a line is too long");
		if (status == 0)
			status = read_rule(line, options, &rule, &is_rule, error);
		if (status == 0 && is_rule)
			status = check_new(&known, &rule, error);
		if (status < 0)
			gg_error_set_place(error, "%s:%u", path, number);
		else if (is_rule && !only_check)
			evaluate_or_say(&rule, families);
	}
	fclose(file);
	return status;
}

/* Writes a file that a reader finds whole, old or new. */
static int write_file(const char *path, const struct gg_buf *text, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf part = { 0 };
	FILE *file;
	bool is_written;

	gg_buf_printf(&part, "%s.%ld", path, (long)getpid());
	file = fopen(gg_buf_text(&part), "w");
	if (file == NULL)
		return gg_error_set_errno(error, errno, gg_buf_text(&part), NULL);
	is_written = fwrite(gg_buf_text(text), 1, text->length, file) == text->length;
	is_written = fclose(file) == 0 && is_written;
	if (is_written && rename(gg_buf_text(&part), path) == 0)
		return 0;
	gg_error_set_errno(error, errno, path, NULL);
	unlink(gg_buf_text(&part));
	return error->status;
}

static int run(struct gg_invocation *invocation)
{
	const struct rules_options *options = invocation->options;
	GG_CLEANUP(families_done) struct families families = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	int status = 0;

	if (invocation->operand_count != 1)
		return gg_error_set(invocation->error, -EINVAL, "fleet rules",
		                    "geiger fleet rules FILE evaluates one.",
		                    "needs the file of the rules");
	families.now_s = (uint32_t)time(NULL);
	if (options->now != NULL)
		status = gg_cli_fleet_time(options->now, "fleet rules", "now", &families.now_s,
		                           invocation->error);
	if (status == 0)
		status = read_file(invocation->operands[0], options, &families, true,
		                   invocation->error);
	if (status == 0)
		status = read_file(invocation->operands[0], options, &families, false,
		                   invocation->error);
	if (status < 0)
		return status;
	append_all(&families, &out);
	gg_buf_printf(&out,
	              "# HELP geiger_rules_time_seconds When the rules were evaluated.\n"
	              "# TYPE geiger_rules_time_seconds gauge\ngeiger_rules_time_seconds %lld\n",
	              (long long)time(NULL));
	status = options->output != NULL ? write_file(options->output, &out, invocation->error)
	                                 : gg_cli_print(&out, true, invocation->error);
	if (status == 0 && families.failed_count > 0)
		return 1;
	return status == 0 && options->fail_on_alert && families.alert_count > 0 ? EXIT_ALERT
	                                                                         : status;
}

#undef AT
#define AT(field) offsetof(struct rules_options, field)

static const struct gg_option options[] = {
	{ "output", 'o', GG_OPTION_TEXT, AT(output), "FILE",
	  "write this file, whole, for node_exporter" },
	{ "fail-on-alert", 0, GG_OPTION_FLAG, AT(fail_on_alert), NULL,
	  "exit with 3 if a row alerts" },
	{ "now", 0, GG_OPTION_TEXT, AT(now), "TIME", "take this time for now" },
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "success; with --fail-on-alert, no row alerts" },
	{ "1", "the store did not answer a rule; others are printed" },
	{ "2", "the request or a rule was wrong" },
	{ "3", "with --fail-on-alert: at least one row alerts" },
	{ NULL, NULL },
};

const struct gg_command gg_command_fleet_rules = {
	.name = "fleet rules",
	.summary = "evaluate alert rules, as Prometheus text",
	.usage = "FILE [OPTION]...",
	.details =
		"A line of FILE is a rule: NAME SERVICE [OPTION]..., with the options of 'fleet\n"
		"report' and one of --above SIZE, --below SIZE, --deviates (a host is unlike the\n"
		"others), or --before VERSION --after VERSION (a function grew).  An alert is\n"
		"significant: its interval excludes the limit, also where a rule has many rows.\n"
		"A rule without times fails if its service was last seen three slots ago.\n"
		"\n"
		"  large_parser checkout --focus '^parse_' --above 2GiB\n"
		"  large_zone   checkout --by-label zone --above 500MiB --rate 0.01\n"
		"  odd_host     checkout --deviates\n"
		"  growth       checkout --before 1.1 --after 1.2\n",
	.options = options,
	.options_size = sizeof(struct rules_options),
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_FLEET,
	.exit_statuses = exit_statuses,
};
