/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retention_lists - the lists that agents have of the regions that stay (region/retention.h), when regions are cleaned.
 */
#pragma once

#include <stdbool.h>

/* Is it the name of such a list? */
bool gg_retention_is_name(const char *name);

/* Removes the list if it is ours and no region that it names is there any more. */
void gg_retention_clean(int directory, const char *name);
