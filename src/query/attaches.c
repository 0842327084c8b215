/* SPDX-License-Identifier: Apache-2.0 */
/* attaches - finds the attaches of a model that reports name. */
#include "query/attaches.h"

#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "region/layout.h"
#include "region/reader/view.h"

static bool is_attached(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_attach *attaches = model->attaches;
	size_t at = gg_lower_bound(0, model->attach_count, i, attaches[i].process < process);

	return process != 0 && at < model->attach_count && attaches[at].process == process;
}

static uint64_t missed_frees_of(const struct gg_model *model, uint32_t process)
{
	const char *name = gg_region_counter_name(GG_COUNT_MISSED_FREES);
	uint64_t count = 0;

	for (size_t i = 0; i < model->counter_count; i++)
		if (model->counters[i].process == process && model->counters[i].name != NULL &&
		    strcmp(model->counters[i].name, name) == 0)
			count += model->counters[i].value;
	return count;
}

int gg_attaches_of(struct gg_attaches *ret_attaches, const struct gg_model *model, uint32_t pid,
                   struct gg_error *error)
{
	struct gg_attaches attaches = {
		.items = calloc(model->attach_count + 1, sizeof(*attaches.items)),
	};

	if (attaches.items == NULL)
		return gg_error_memory(error, "attaches");
	for (size_t i = 0; i < model->attach_count; i++) {
		const struct gg_profile_attach *attach = &model->attaches[i];
		const struct gg_profile_process *process = &model->processes[attach->process];

		if (pid != 0 && process->pid != pid)
			continue;
		if (pid == 0 && attach->is_inherited && is_attached(model, process->parent)) {
			attaches.forked_count++;
			continue;
		}
		attaches.items[attaches.count++] = (struct gg_attached){
			.attach = attach,
			.pid = process->pid,
			.missed_free_count = missed_frees_of(model, attach->process),
		};
	}
	*ret_attaches = attaches;
	return 0;
}

void gg_attaches_done(struct gg_attaches *attaches)
{
	free(attaches->items);
	*attaches = (struct gg_attaches){ 0 };
}
