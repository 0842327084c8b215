/* SPDX-License-Identifier: Apache-2.0 */
/* attach_result - formats how an attach went, as text and as JSON. */
#pragma once

#include <stdbool.h>

#include "attach/attachment.h"
#include "attach/survey.h"
#include "base/buf.h"
#include "base/json.h"

/* Waits up to a second until the adapter for Java VMs, if there is one, has joined the VM. */
void gg_attach_result_await_java(const struct gg_survey *survey, struct gg_attachment *attachment);

/*
 * Appends how the process was entered, and what the agent does not see.  `names_region`: the
 * region stays, so a line says what reads it.
 */
void gg_attach_result_append(const struct gg_survey *survey, const struct gg_attachment *attachment,
                             bool names_region, struct gg_buf *out);

/* Appends one line, for one process of several. */
void gg_attach_result_append_line(const struct gg_survey *survey,
                                  const struct gg_attachment *attachment, struct gg_buf *out);

/* Writes the members of an object that is open (docs/reference/JSON.md). */
void gg_attach_result_append_json(const struct gg_survey *survey,
                                  const struct gg_attachment *attachment, struct gg_json *json);

/* Begins the object that a command prints. */
void gg_attach_result_begin(struct gg_json *json);

/* Closes the object, and prints it. */
GG_MUST_CHECK int gg_attach_result_print(struct gg_json *json, struct gg_error *error);
