/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_process - which process another agent's profile is of, by its labels.
 *
 *   struct gg_foreign_process process = { 0 };
 *
 *   status = gg_foreign_process_of(&process, model, number, labels, label_count);
 *   ... process.host, process.instance, process.facts ...
 *
 * Identity  All labels together are a process, whatever their order.  At least one must tell it
 *           from others: an instance, a pod, a host, a container, or the session of an SDK.  A pid
 *           alone does not, since each container has a process 1.
 * Series    Labels of services and versions have columns of their own.  Those of hosts and
 *           processes are in the identity, and the rest are labels of the series.
 * Texts     are those of the model and of the given labels.
 * Threads   one owner.
 */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "fleet/fleet_ids.h"
#include "model/model.h"
#include "send/send_body.h"

struct gg_foreign_process {
	uint32_t number; /* of the model */
	struct gg_fleet_label labels[GG_SEND_LABELS_MAX];
	size_t label_count;
	struct gg_send_facts facts;
	char host[256], instance[20];
	const char *kind; /* "go" */
};

/*
 * -EINVAL: nothing tells it from others; -EILSEQ: a label is not UTF-8; -ENOMEM.  *process is
 * all-zero before.
 */
GG_MUST_CHECK int gg_foreign_process_of(struct gg_foreign_process *process,
                                        const struct gg_model *model, uint32_t number,
                                        const struct gg_fleet_label *labels, size_t label_count);
