/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_frames - the frames of a profile.proto's locations.
 *
 * The first sample at a location makes its frame; later samples get the same one.  Locations and
 * mappings without samples leave no trace in the profile.
 *
 * Threads  one owner.
 */
#pragma once

#include "format/import/pprof_tables.h"

/* Returns the frame of the location with that id; an error names the offset of `at`. */
GG_MUST_CHECK int gg_pprof_frames_get(struct gg_pprof_tables *pprof, uint64_t location,
                                      const uint8_t *at, uint32_t *ret_frame);
