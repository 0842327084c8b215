/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpm_owner - asks the program rpm which package has a file.
 *
 * Waits  GG_RPM_OWNER_SECONDS at most for an answer: another process may hold rpm's lock.
 */
#pragma once

enum { GG_RPM_OWNER_SECONDS = 3 };

/* Returns the package's name, which the caller frees, or NULL: none, or rpm did not answer. */
char *gg_rpm_owner(const char *path);
