/* SPDX-License-Identifier: Apache-2.0 */
/* survey_text - formats what a survey of a process found, as text and as JSON. */
#pragma once

#include "attach/survey.h"
#include "base/buf.h"
#include "base/json.h"

/* Appends lines of "name  value", with a line feed after each. */
void gg_survey_text_append(const struct gg_survey *survey, struct gg_buf *out);

/* Writes the members of an object that is open (docs/reference/JSON.md). */
void gg_survey_text_append_json(const struct gg_survey *survey, struct gg_json *json);
