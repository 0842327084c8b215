/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_looks - looks at a profile, finished or being recorded, and makes models for all looks.
 */
#include <errno.h>

#include "record/regions/region_profile.h"
#include "record/symbols/live_names.h"
#include "report/frame_selection.h"
#include "send/sender.h"
#include "send/sender_internal.h"

int gg_sender_load_model(struct sender *sender, struct gg_profile *profile, bool has_live_names,
                         struct gg_model **ret_model)
{
	const struct gg_frame_selection frames = { .all_frames = true };
	struct gg_model_options options = { 0 };
	int status;

	if (has_live_names && gg_live_names_learn(sender->names, profile, NULL) == 0) {
		options.more_lines = gg_live_names_tell;
		options.context = sender->names;
	}
	gg_frame_selection_options(&frames, &options);
	status = gg_model_load(ret_model, &profile, 1, &options, sender->error);
	if (status == 0) {
		status = gg_frame_selection_apply(&frames, ret_model, 1, sender->error);
		if (status < 0)
			gg_model_free(*ret_model);
	}
	return status;
}

int gg_sender_extract_of(struct sender *sender, const struct gg_model *model,
                         struct gg_extract **ret_extract)
{
	struct gg_query query;

	gg_query_init(&query);
	return gg_extract_make_by_stack(ret_extract, model, &query, sender->options->confidence,
	                                sender->error);
}

/*
 * A recorder writes a process before its samples, so only a damaged profile has samples without
 * one.  They are sent when the profile is finished: until then they may get a process, and would
 * be sent again as its samples.
 */
static int wait_for_pid(struct sender *sender, const char *owner)
{
	struct seen_process *seen = gg_seen_process_of(sender, owner);

	if (seen == NULL)
		return gg_error_memory(sender->error, "send");
	seen->is_here = seen->is_unsent = true;
	return 0;
}

static int send_model(struct sender *sender, const struct gg_model *model, bool is_finished)
{
	const struct gg_profile_session *session = &model->sessions[0];
	struct gg_extract *extract = NULL;
	int status = gg_sender_extract_of(sender, model, &extract);

	for (size_t first = 0, end; status == 0 && first < extract->row_count; first = end) {
		uint32_t number = extract->rows[first].process;
		const struct gg_profile_process *process = &model->processes[number];
		struct looked looked = { .begin_ns = process->start_ns > 0 ? process->start_ns : 0,
			                 .now_ns = extract->end_ns,
			                 .has_ended = is_finished ||
			                              process->end_ns != GG_TIME_NONE };

		looked.begin_wall_ns = session->start_wall_ns + (uint64_t)looked.begin_ns;
		for (end = first + 1;
		     end < extract->row_count && extract->rows[end].process == number;)
			end++;
		gg_seen_name_owner(looked.owner, process->pid, session->start_wall_ns,
		                   (uint64_t)process->start_ns ^ (uint64_t)process->id << 40);
		status = process->pid == 0 && !is_finished
		                 ? wait_for_pid(sender, looked.owner)
		                 : gg_sender_send_process(sender, &looked, extract, first, end);
	}
	gg_extract_free(extract);
	return status;
}

int gg_sender_look_at_profile(struct sender *sender)
{
	struct gg_profile_session session;
	struct gg_profile *profile;
	struct gg_model *model;
	int status = gg_region_profile_open_complete(&profile, sender->options->target, NULL,
	                                             sender->error);

	if (status < 0)
		return status;
	status = gg_profile_session(profile, &session, sender->error);
	if (status == 0)
		status = gg_sender_load_model(sender, profile, session.end_ns == GG_TIME_NONE,
		                              &model);
	gg_profile_close(profile);
	if (status < 0)
		return status;
	for (size_t i = 0; i < sender->seen.count; i++)
		sender->seen.items[i].is_unsent = false; /* the profile has all that is missing */
	if (model->session_count > 0)
		status = sender->options->facts.receiver->form == GG_RECEIVER_FLEET
		                 ? gg_sender_send_session(sender, model,
		                                          session.end_ns != GG_TIME_NONE)
		                 : send_model(sender, model, session.end_ns != GG_TIME_NONE);
	gg_model_free(model);
	if (status == 0) /* otherwise the next look tries again */
		sender->has_ended = session.end_ns != GG_TIME_NONE;
	return status;
}
