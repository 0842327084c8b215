/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile regions (spoilt.h): no crash, no read outside the copy, no endless loop. */
#include <stdbool.h>
#include <stdlib.h>

#include "region/reader/view.h"
#include "spoilt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void use(const struct gg_region_view *view)
{
	uint64_t pcs[8];

	for (uint32_t i = 0; i < view->node_count; i++)
		require(gg_region_view_stack(view, i, pcs, 8) <= view->node_count);
	for (uint32_t i = 0; i < view->frame_count; i++) {
		const struct gg_region_frame *frame = &view->frames[i];

		require(frame->function_offset + frame->function_bytes <= view->string_bytes);
		require(frame->file_offset + frame->file_bytes <= view->string_bytes);
	}
	for (uint32_t i = 0; i < view->live_count; i++) {
		require(view->live[i].stack < view->node_count);
		require(view->live[i].thread < view->thread_count);
	}
	gg_region_view_totals(view);
	require(gg_region_view_check(view, NULL) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = spoilt_region(data, size);
	struct gg_region_view view;

	if (gg_region_view_read(&view, fd, "spoilt", NULL) == 0) {
		use(&view);
		gg_region_view_done(&view);
	}
	return 0;
}
