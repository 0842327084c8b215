/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_ask - the options of verbs that ask a fleet, and the answer as a model.
 */
#pragma once

#include "cli/command.h"
#include "cli/fleet/fleet_verbs.h"
#include "cli/query_options.h"
#include "fleet/fleet_question.h"
#include "model/model.h"
#include "report/report.h"

struct gg_fleet_ask_options {
	struct gg_report_options common;
	struct gg_fleet_place place;
	int metric; /* live, allocated, freed, peak */
	const char *version, *host;
	struct gg_option_pairs labels;
	const char *since, *until, *at;
	const char *time_prefix; /* of the names of these options; NULL: none */
	double slot_seconds;
	bool by_host;
	bool by_slot;     /* the answer is a chart of all slots */
	bool joins_draws; /* the verb calls gg_cli_fleet_extend() */
};

extern const struct gg_option gg_cli_fleet_metric_options[]; /* --metric, --unit */
extern const struct gg_option gg_cli_fleet_scope_options[];  /* --host, --label */
extern const struct gg_option gg_cli_fleet_time_options[];   /* --at, --since, --until, --slot */

/* The last rows of a table: which frames, how they look, and of which store. */
#define GG_FLEET_FORM_OPTIONS                                                                   \
	GG_OPTIONS_SHARED(gg_cli_frame_options, offsetof(struct gg_fleet_ask_options, common)), \
		GG_OPTIONS_SHARED(gg_cli_name_options,                                          \
	                          offsetof(struct gg_fleet_ask_options, common)),               \
		GG_OPTIONS_SHARED(gg_cli_confidence_options,                                    \
	                          offsetof(struct gg_fleet_ask_options, common)),               \
		GG_OPTIONS_SHARED(gg_cli_output_options,                                        \
	                          offsetof(struct gg_fleet_ask_options, common)),               \
		GG_OPTIONS_SHARED(gg_cli_fleet_place_options,                                   \
	                          offsetof(struct gg_fleet_ask_options, place)),                \
		GG_OPTIONS_END

#define GG_FLEET_ASK_DEFAULTS                                                        \
	.common = { .metric = -1, .confidence = 0.95, .limit = GG_LIMIT_NOT_GIVEN }, \
	.slot_seconds = 600

/*
 * A question with its answer.  The store stays open until gg_cli_asked_fleet_done(), for further
 * questions about the same scope.
 */
struct gg_asked_fleet {
	struct gg_clickhouse store;
	struct gg_fleet_label labels[GG_OPTION_PAIRS_MAX];
	struct gg_fleet_question question;
	struct gg_fleet_scope scope;
	struct gg_query query;
	uint64_t groups;    /* of hosts, with which the model is made */
	bool extends_slots; /* a chart's slots are extended to all hosts, each by its own draw */
	struct gg_model *model; /* NULL until gg_cli_fleet_model() */
	struct gg_buf when;
	struct gg_report_fleet fleet;
	uint64_t delay_s; /* of the replica, before it read the first row */
};

/* Reads a time: "2026-11-27 02:40", "@1700000000", or one before now, "2h".  In UTC. */
GG_MUST_CHECK int gg_cli_fleet_time(const char *text, const char *verb, const char *option,
                                    uint32_t *ret_time_s, struct gg_error *error);

/* Makes the question, opens the store, and finds the scope.  `verb` is the place of errors. */
GG_MUST_CHECK int gg_cli_fleet_ask(struct gg_asked_fleet *answer,
                                   const struct gg_fleet_ask_options *options, const char *service,
                                   const char *verb, struct gg_error *error);

/*
 * Appends a note if the replica that answers is behind the others: it answers from the rows that
 * it has, and the numbers look whole.  `delay_s` is that of gg_fleet_delay_seconds() before the
 * first row was read, because a replica may catch up while it answers.  False: it has no delay.
 */
bool gg_cli_fleet_append_delay(uint64_t delay_s, struct gg_buf *note);

/* Appends how many hosts count, and how many of them lack something. */
void gg_cli_fleet_append_hosts(const struct gg_asked_fleet *answer, struct gg_buf *notes);

/* Makes the model, with its notes and the frames that the options select. */
GG_MUST_CHECK int gg_cli_fleet_model(struct gg_asked_fleet *answer,
                                     const struct gg_fleet_ask_options *options,
                                     struct gg_error *error);

/*
 * Extends the rows of a result to all hosts, if stacks of some were drawn and
 * answer->fleet.is_between_hosts is set.
 */
GG_MUST_CHECK int gg_cli_fleet_extend(struct gg_asked_fleet *answer,
                                      const struct gg_fleet_ask_options *options,
                                      struct gg_query_result *result, double confidence,
                                      struct gg_error *error);
void gg_cli_asked_fleet_done(struct gg_asked_fleet *answer);

/* Prints what answer() appends.  The result is that of answer(). */
GG_MUST_CHECK int gg_cli_fleet_print(struct gg_invocation *invocation,
                                     int (*answer)(struct gg_invocation *, struct gg_buf *),
                                     bool no_pager);

/* -EINVAL unless there is exactly one operand, the service. */
GG_MUST_CHECK int gg_cli_fleet_check_service(const struct gg_invocation *invocation,
                                             const char *verb);
