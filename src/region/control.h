/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control - writes a region's control word: the settings that another process requests.
 *
 *   int fd = gg_region_control_open(path, error);
 *   struct gg_region_change change = { .set_active = true, .active = false };
 *
 *   if (fd < 0 || gg_region_control_write(fd, &change, error) < 0)
 *           return error->status;
 *
 * The agent reads the word on cold paths, so a request takes effect at each thread's next read
 * (docs/AGENT.md, "Settings while it runs").  No answer reports whether it did.
 *
 * The word is written by pwrite(), never through a mapping, so a file that is truncated meanwhile
 * causes no signal.  A call of its own writes the count last.  Each call takes and releases the
 * page's lock, so a reader that sees the count sees everything that was written before it.  A
 * half-written count also differs from the last one; the agent reads the word again when the count
 * is whole.
 *
 * Writers  They take turns by a lock (flock) on the file.  One that waits longer than 200 ms gets
 *          -EBUSY.
 * Hostile  The code trusts nothing of the file.  It must be a regular file with one name that
 *          belongs to the caller (root: to any user), have the header of a region, and be as long
 *          as this header requires.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "region/layout.h"

/* The largest sampling interval; GEIGER_INTERVAL has the same limit. */
#define GG_REGION_INTERVAL_MAX (UINT64_C(1) << 48)

/* The least share of processor time that an agent accepts: 0.01 %. */
enum {
	GG_REGION_OVERHEAD_LEAST_PPM = 100,
	GG_REGION_ERROR_LEAST_PPM = 1000, /* and the least error: 0.1 % */
};

struct gg_region_change {
	bool set_active, active;
	/* 0: unchanged.  A fixed interval ends the control of overhead and error. */
	uint64_t interval_bytes;
	uint32_t overhead_ppm; /* 0: unchanged */
	uint32_t error_ppm;    /* 0: unchanged */
	bool detach;           /* an attached agent is to take its hooks away */
};

/*
 * Returns a descriptor for reading and writing, or -Exxx: -EPERM for the file of another user,
 * -EBADMSG for a file that is no region, -ELOOP for a symbolic link.
 */
GG_MUST_CHECK int gg_region_control_open(const char *path, struct gg_error *error);

/*
 * Opens the file of a descriptor that may be open for reading alone.  Errors as above; `place` is
 * the file's name in messages.
 */
GG_MUST_CHECK int gg_region_control_reopen(int region_fd, const char *place,
                                           struct gg_error *error);

/* Returns 0 or -Exxx.  -EINVAL: the sampling interval is out of range, and nothing was written. */
GG_MUST_CHECK int gg_region_control_write(int fd, const struct gg_region_change *change,
                                          struct gg_error *error);

/*
 * Requests a look at the allocator (docs/AGENT.md, "Calls of the allocator").  Returns 0 or -Exxx.
 */
GG_MUST_CHECK int gg_region_control_request_look(int fd, struct gg_error *error);

/*
 * The recorder states its costs (struct gg_region_recorder).  It is the only writer, so there is no
 * lock.  Returns false if the file cannot be written.
 */
bool gg_region_control_charge(int fd, const struct gg_region_recorder *costs);

/* Reads the current word.  Returns false if it cannot be read. */
bool gg_region_control_read(int fd, struct gg_region_control *ret_control);
