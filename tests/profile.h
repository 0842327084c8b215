/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - a small profile for tests: one record of each kind and two samples, of which one lives.
 *
 * Ids are 1, but for the stack with two frames, which is 2.
 */
#pragma once

#include "profile/profile.h"

/* A folder with the path of a profile that is not there yet. */
struct profile_place {
	const char *directory;
	char path[96];
};

struct profile_place profile_place_make(void);

/* Removes the profile and the folder.  False with a message if something else is in it. */
bool profile_place_remove(const struct profile_place *place);

/* For gg_profile_each_sample(): adds 1 to a uint64_t. */
int profile_count_sample(const struct gg_profile_sample *sample, void *count);

/* For gg_profile_check(): prints the problem. */
void profile_print_problem(const char *problem, void *context);

extern const struct gg_profile_session profile_session;

/*
 * Both samples have these values, but number 2 was freed at 200 s by thread 1 in stack 1, and
 * noticed late.
 */
extern const struct gg_profile_sample profile_sample;

/* The aggregate has 3 times, and the total freed 4 times, what this gives for 1. */
struct gg_sums profile_sums(double scale);

/* True if all could be written. */
bool profile_write(struct gg_profile *profile, struct gg_error *error);
