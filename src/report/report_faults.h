/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_faults - prints memory errors that guarded blocks have shown (docs/MALLOC.md).
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "report/report.h"

/* Append all errors of the process, with their stacks.  pid: 0: of all processes. */
void gg_report_faults_text(const struct gg_report *report, uint32_t pid, struct gg_buf *out);
void gg_report_faults_json(const struct gg_report *report, uint32_t pid, struct gg_buf *out);

/* For the head of reports: "2 memory errors: 'geiger faults' shows them"; nothing without any. */
void gg_report_append_fault_count(const struct gg_report *report, struct gg_buf *out);

/* Returns how many errors the process had.  pid: 0: of all processes. */
size_t gg_report_count_faults(const struct gg_model *model, uint32_t pid);

/* Returns how many blocks the process has guarded; 0: it could show no errors. */
uint64_t gg_report_count_guarded(const struct gg_model *model, uint32_t pid);
