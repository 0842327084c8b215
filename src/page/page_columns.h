/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_columns - writers for long lists of numbers.
 *
 * A page has a million numbers, so this module writes whole numbers, and doubles with whole values,
 * without printf.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* Fast writers for lists of numbers: whole numbers, and doubles with `digits` digits. */
void gg_page_integers(struct gg_json *json, const char *name, const uint32_t *values, size_t count,
                      size_t stride_bytes);
void gg_page_doubles(struct gg_json *json, const char *name, const double *values, size_t count,
                     size_t stride_bytes, int digits);

/* Writes one member of an array of structs as a column. */
#define GG_PAGE_INTEGERS(json, name, items, count, member)                           \
	gg_page_integers(json, name, (count) > 0 ? &(items)[0].member : NULL, count, \
	                 sizeof((items)[0]))
#define GG_PAGE_DOUBLES(json, name, items, count, member, digits)                   \
	gg_page_doubles(json, name, (count) > 0 ? &(items)[0].member : NULL, count, \
	                sizeof((items)[0]), digits)
