/* SPDX-License-Identifier: Apache-2.0 */
#include "record/regions/unfinished_profiles.h"

#include "record/symbols/symbolize.h"

bool gg_unfinished_profile(struct gg_profile *profile, const char *path)
{
	struct gg_profile_session session;

	/* Twice: a recorder is out of its transaction for an instant when it commits. */
	return gg_profile_session(profile, &session, NULL) == 0 && session.has_history &&
	       session.end_ns == GG_TIME_NONE && !gg_profile_is_being_written(path) &&
	       !gg_profile_is_being_written(path);
}

int gg_unfinished_profile_end(struct gg_profile *profile, bool by_copy, struct gg_error *error)
{
	struct gg_profile_session session;
	int code = gg_profile_session(profile, &session, error);

	if (code < 0)
		return code;
	code = gg_profile_last_time(profile, &session.end_ns, error);
	if (code == 0)
		code = gg_profile_set_session(profile, &session, error);
	if (code == 0)
		code = gg_profile_add_note(
			profile,
			by_copy ? "The recording ended early: its recorder was killed, or could "
				  "not write any more.  Names are looked up for each report, until "
				  "'geiger symbolize' writes them into the profile.  'geiger ls' "
				  "shows what lived on."
				: "The recording ended early: its recorder was killed, or could "
				  "not write any more.  'geiger ls' shows what lived on.",
			error);
	return code;
}

int gg_unfinished_profile_complete(struct gg_profile **profile, struct gg_error *error)
{
	struct gg_symbolize_result symbols;
	struct gg_profile *copy;
	int code = gg_profile_copy(&copy, *profile, error);

	if (code < 0)
		return code;
	code = gg_unfinished_profile_end(copy, true, error);
	if (code == 0)
		code = gg_symbolize(copy, NULL, &symbols, error);
	if (code == 0)
		code = gg_profile_finish(copy, error);
	gg_profile_close(code == 0 ? *profile : copy);
	if (code == 0)
		*profile = copy;
	return code;
}
