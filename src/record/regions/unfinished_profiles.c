/* SPDX-License-Identifier: Apache-2.0 */
/* unfinished_profiles - profiles whose recorder was killed or could not write any more. */
#include "record/regions/unfinished_profiles.h"

#include "record/symbols/symbolize.h"

bool gg_unfinished_profile(struct gg_profile *profile, const char *path)
{
	struct gg_profile_session session;

	/*
	 * Checked twice, because a recorder is outside of its transaction for an instant when it
	 * commits.  A second check right after the first does not hit such an instant again.
	 */
	return gg_profile_session(profile, &session, NULL) == 0 && session.has_history &&
	       session.end_ns == GG_TIME_NONE && !gg_profile_is_being_written(path) &&
	       !gg_profile_is_being_written(path);
}

int gg_unfinished_profile_end(struct gg_profile *profile, bool by_copy, struct gg_error *error)
{
	struct gg_profile_session session;
	int status = gg_profile_session(profile, &session, error);

	if (status < 0)
		return status;
	status = gg_profile_last_time(profile, &session.end_ns, error);
	if (status == 0)
		status = gg_profile_set_session(profile, &session, error);
	if (status == 0)
		status = gg_profile_add_note(
			profile,
			by_copy ? "The recording ended early: its recorder was killed, or could "
				  "not write any more.  Names are looked up for each report, until "
				  "'geiger symbolize' writes them into the profile.  'geiger ls' "
				  "shows what lived on."
				: "The recording ended early: its recorder was killed, or could "
				  "not write any more.  'geiger ls' shows what lived on.",
			error);
	return status;
}

/* The file stays as it is, since a report must not write to what it reads. */
int gg_unfinished_profile_complete(struct gg_profile **profile, const struct gg_progress *progress,
                                   struct gg_error *error)
{
	const struct gg_symbol_options options = { .progress = progress };
	struct gg_symbolize_result symbols;
	struct gg_profile *copy;
	int status = gg_profile_copy(&copy, *profile, error);

	if (status < 0)
		return status;
	status = gg_unfinished_profile_end(copy, true, error);
	if (status == 0)
		status = gg_symbolize(copy, &options, &symbols, error);
	if (status == 0)
		status = gg_profile_finish(copy, error);
	gg_profile_close(status == 0 ? *profile : copy);
	if (status == 0)
		*profile = copy;
	return status;
}
