/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics - a model's totals as OpenMetrics text, for Prometheus and other scrapers.
 *
 *   status = gg_metrics_write(model, 0.95, true, &text, error);
 *
 * Each process has its live and allocated memory with the ends of their confidence intervals, its
 * RSS, and what the agent dropped.  The server adds its own processor time and memory.
 * docs/reference/HTTP_API.md lists the names.
 *
 * Threads  any number of readers.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "model/model.h"

/*
 * Appends the text.  `is_running`: the processes of the model run on this machine, so their RSS is
 * that of the moment; otherwise it is the last reading in the model.
 */
GG_MUST_CHECK int gg_metrics_write(const struct gg_model *model, double confidence, bool is_running,
                                   struct gg_buf *out, struct gg_error *error);
