/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_region_state - the words for the states of regions and their processes. */
#include "record/regions/region_state.h"

#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "region/reader/view.h"
#include "test.h"

/* A region of this process, which runs. */
struct listed {
	struct gg_region_view view;
	struct gg_listed_region file;
};

static void listed_setup(struct listed *listed)
{
	listed->file = (struct gg_listed_region){ .kind = GG_LISTED_REGION_WHOLE,
		                                  .is_alive = true,
		                                  .view = &listed->view };
	listed->view.header.pid = (uint32_t)getpid();
	listed->view.header.process_start_ticks = gg_process_alive_start_ticks((uint32_t)getpid());
	listed->view.header.control.active = 1;
}

static void listed_teardown(struct listed *listed)
{
	(void)listed;
}
FIXTURE(listed)

/* Checks the words without and with sampling. */
static void check_states(const struct listed *listed, const char *process, const char *sampling)
{
	CHECK_EQ_STR(gg_region_state(&listed->file, GG_REGION_STATE_PROCESS), process);
	CHECK_EQ_STR(gg_region_state(&listed->file, GG_REGION_STATE_SAMPLING), sampling);
}

TEST_WITH(listed, a_running_process_shows_how_it_came_to_the_agent)
{
	check_states(listed, "alive", "alive");
	listed->view.header.attach.attached_ns = 1;
	check_states(listed, "attached", "attached");
	listed->view.header.attach.flags = GG_REGION_ATTACH_INHERITED;
	check_states(listed, "inherited", "inherited");
}

TEST_WITH(listed, a_recorder_and_sampling_that_is_off_show_on_request)
{
	listed->view.header.attach.attached_ns = 1;
	listed->file.is_recorded = true;
	check_states(listed, "attached", "recorded");
	listed->view.header.control.active = 0;
	check_states(listed, "attached", "off");
}

TEST_WITH(listed, a_detached_process_runs_on_and_a_dead_one_does_not)
{
	listed->file.is_alive = false;
	listed->file.is_recorded = true;
	check_states(listed, "dead", "dead");
	listed->view.header.attach.flags = GG_REGION_DETACHED;
	check_states(listed, "detached", "detached");
	/* Another process has its pid now. */
	listed->view.header.process_start_ticks++;
	check_states(listed, "dead", "dead");
}

TEST_WITH(listed, an_incomplete_region_has_no_other_state)
{
	listed->file.view = NULL;
	listed->file.kind = GG_LISTED_REGION_UNMADE;
	check_states(listed, "starting", "starting");
	listed->file.is_alive = false;
	check_states(listed, "unmade", "unmade");
	listed->file.kind = GG_LISTED_REGION_OTHER;
	check_states(listed, "not a region", "not a region");
}
