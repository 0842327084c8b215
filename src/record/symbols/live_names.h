/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_names - names the frames of a profile that is still recorded.
 *
 *   gg_live_names_new(&names, error);
 *   now and then:
 *     gg_live_names_learn(names, profile, error);
 *     options = (struct gg_model_options){ .more_lines = gg_live_names_tell, .context = names };
 *     gg_model_load(&model, &profile, 1, &options, error);
 *   gg_live_names_free(names);
 *
 * Until its recording ends, a profile has addresses only: the recorder names its frames at the end
 * (symbolize.h).  This module only reads the profile.  It remembers the names by module (path and
 * build-id) and address, so it looks up each place once, whatever profile the place is in.
 *
 * Unknown   a place without a name is not looked up again, except in code of JIT compilers, which
 *           may write the name later.
 * Cost      each call passes over the modules, frames and lines of the profile.  After a look-up
 *           the next one waits ten times as long as it took, and a module gets LIMIT_SECONDS at
 *           most.  Nothing is fetched from the network.
 * Memory    40 bytes for each place and 40 for each line; each text once.  From PLACES_MAX places
 *           on, the module forgets everything and begins anew.
 * Threads   one owner at a time; it forks (symbol/symbol.h).
 */
#pragma once

#include "profile/profile.h"

struct gg_live_names;

GG_MUST_CHECK int gg_live_names_new(struct gg_live_names **ret_names, struct gg_error *error);
void gg_live_names_free(struct gg_live_names *names); /* NULL is fine */

/*
 * Finds the frames of the profile without a name, and looks up new places if a look-up is due.
 * Fails with the errors of reading the profile, or -ENOMEM.
 */
GG_MUST_CHECK int gg_live_names_learn(struct gg_live_names *names, struct gg_profile *profile,
                                      struct gg_error *error);

/*
 * Visits the lines of the frames that have no name in the profile of the last
 * gg_live_names_learn(), like gg_profile_each_line().
 */
int gg_live_names_tell(gg_line_visit *visit, void *visitor, void *names);
