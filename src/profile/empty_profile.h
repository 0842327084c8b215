/* SPDX-License-Identifier: Apache-2.0 */
/*
 * empty_profile - the bytes of a profile that gg_profile_create_at_once() begins with.
 *
 * The build makes them by the code that creates any other profile (make_empty_profile.c), so they
 * follow each change of the schema.  A cross build cannot run that program and has no bytes.
 */
#pragma once

#include <stddef.h>

/* 0: this build has no bytes. */
extern const size_t gg_empty_profile_length;
extern const unsigned char gg_empty_profile[];
