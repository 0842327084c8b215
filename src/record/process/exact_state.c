/* SPDX-License-Identifier: Apache-2.0 */
/* exact_state - makes and frees the history of a process with exact counts. */
#include "record/process/exact_state.h"

#include <stdlib.h>

struct gg_exact_history *gg_exact_history_new(void)
{
	struct gg_exact_history *history = calloc(1, sizeof(*history));

	if (history != NULL && !gg_array_extend(&history->batches, 1)) {
		free(history);
		return NULL;
	}
	return history;
}

void gg_exact_history_free(struct gg_exact_history *history)
{
	if (history == NULL)
		return;
	gg_array_done(&history->rows);
	gg_array_done(&history->newest);
	gg_array_done(&history->batches);
	gg_array_done(&history->touched);
	gg_array_done(&history->records);
	gg_array_done(&history->pending);
	free(history);
}
