/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_units - the nanoseconds of each unit of time. All times in geiger are in nanoseconds.
 *
 *   int64_t until_ns = now_ns + 10 * GG_NS_PER_S;
 */
#pragma once

#include <stdint.h>

#define GG_NS_PER_US INT64_C(1000)
#define GG_NS_PER_MS INT64_C(1000000)
#define GG_NS_PER_S  INT64_C(1000000000)
