/* SPDX-License-Identifier: Apache-2.0 */
/* region_state - words for the states of regions (regions/region_state.h). */
#include "record/regions/region_state.h"

#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "region/reader/view.h"

static const char *ended_state(const struct gg_region_header *header)
{
	return (header->attach.flags & GG_REGION_DETACHED) != 0 &&
	                       gg_process_alive(header->pid, header->process_start_ticks)
	               ? "detached"
	               : "dead";
}

static const char *running_state(const struct gg_region_header *header)
{
	if (header->attach.attached_ns == 0)
		return "alive";
	return (header->attach.flags & GG_REGION_ATTACH_INHERITED) != 0 ? "inherited" : "attached";
}

const char *gg_region_state(const struct gg_listed_region *file, enum gg_region_state_detail detail)
{
	if (file->kind == GG_LISTED_REGION_OTHER)
		return "not a region";
	/* The agent creates a region in several steps; a process may die in between. */
	if (file->kind == GG_LISTED_REGION_UNMADE)
		return file->is_alive ? "starting" : "unmade";
	if (!file->is_alive)
		return ended_state(&file->view->header);
	if (detail == GG_REGION_STATE_SAMPLING && file->view->header.control.active == 0)
		return "off";
	if (detail == GG_REGION_STATE_SAMPLING && file->is_recorded)
		return "recorded";
	return running_state(&file->view->header);
}
