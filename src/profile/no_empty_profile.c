/* SPDX-License-Identifier: Apache-2.0 */
/* no_empty_profile - stands for the bytes of an empty profile where the build cannot make them. */
#include "profile/empty_profile.h"

const size_t gg_empty_profile_length = 0;
const unsigned char gg_empty_profile[1] = { 0 };
