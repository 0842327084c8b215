/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_names - names of frames for those who look at a profile before its recording has ended, when it has none.
 *
 *   gg_live_names_new(&names, error);
 *   again and again:
 *     gg_live_names_learn(names, profile, error);
 *     gg_model_load(&model, &profile, 1, &(struct gg_model_options){ .more_lines = gg_live_names_tell,
 *                                                                    .context = names }, error);
 *   gg_live_names_free(names);
 *
 * The profile is only read: who records it names its frames at the end (record/symbols/symbolize.h).  What was found is
 * kept by module (path and build-id) and address, so each place is looked up once, whatever profile it is in.
 *
 * What is not found   is not asked for again, but for code of JIT compilers, which tell of it later.
 * Cost      passes over the modules, frames and lines of the profile; looking up new places rests ten times as
 *           long as it took, and a module gets LIMIT_SECONDS.  Nothing is fetched from the network.
 * Memory    40 bytes a place and 40 a line, each text once.  From PLACES_MAX on everything begins anew.
 * Threads   one owner; it forks (symbol/symbol.h).
 */
#pragma once

#include "profile/profile.h"

struct gg_names;

GG_MUST_CHECK int gg_live_names_new(struct gg_names **ret_names, struct gg_error *error);
void gg_live_names_free(struct gg_names *names); /* NULL is fine */

/* Looks up what has no name there, if it is time to.  Fails as reading the profile does, or -ENOMEM. */
GG_MUST_CHECK int gg_live_names_learn(struct gg_names *names, struct gg_profile *profile,
                                      struct gg_error *error);

/* The lines of the frames of that profile that have none in it: as gg_profile_each_line(). */
int gg_live_names_tell(gg_line_visit *visit, void *visitor, void *names);
