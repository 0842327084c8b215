/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema - the tables of a profile as SQL text; docs/PROFILE.md explains each column.
 *
 * The texts are the format: a change of what a reader sees raises GG_PROFILE_VERSION.
 */
#pragma once

extern const char gg_schema_tables[];

/* Views that answer common questions in one line; "create view NAME as ...;" each. */
extern const char gg_schema_views[];

/* What a sample that ends late dirties, and what a scan reads at once. */
enum { GG_SCHEMA_PAGE_BYTES = 4096 };
