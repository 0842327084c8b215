/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_attach - prints which processes were attached while they ran, and what they held before.
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "report/report.h"

/* Appends "attached 3 h 0 min after the start; 1.9 GiB are older"; nothing without an attach. */
void gg_report_append_attaches(const struct gg_report *report, struct gg_buf *out);
/* Appends a note that older memory was not judged; nothing without an attach. */
void gg_report_append_older_note(const struct gg_report *report, struct gg_buf *out);
/* Appends the member "attaches", a list.  pid: of one process; 0: of all. */
void gg_report_json_attaches(struct gg_json *json, const struct gg_model *model, uint32_t pid,
                             double confidence);
