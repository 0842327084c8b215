/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_schedule - when the recorder looks at a process (look/look.h).
 *
 * The profile keeps the last look at a process and the one at its largest RSS.  So a look is due
 * when RSS or live memory differs by 5 % from that of the last look; otherwise after a quarter of
 * the process's life, and after 10 s at the latest.  Nothing announces the end of a process early
 * enough: its last look shows it as it was up to that long before.
 *
 * If the process freed more than 2 % of the chosen samples during a look, that look could not tell
 * free memory apart.  Then another one is due at once, up to three times in a row.
 *
 * Cost      a look takes place in a walk through the mappings, which has a schedule of its own
 *           (process/memory_readings.h).  Looks take at most 1 % of a processor (4 % in the
 *           first 10 s of a process), and no more than
 *           50 ms for 10,000 samples: a look that takes longer halves the number of samples that
 *           the next one chooses, and one that takes less than a third doubles it again, up to
 *           10,000.  Below 500 samples, looks leave out the memory around samples and say why.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/time_units.h"
#include "record/process/member.h"

/* A process is young for so long: most end soon, and grow first. */
#define GG_LOOK_YOUNG_NS (10 * GG_NS_PER_S)

/* In each round: lets the time since the last one count, at the session's current pauses. */
void gg_look_schedule_pass(struct gg_member *member);

/* True if a look is due.  The member's reading has the current RSS. */
bool gg_look_schedule_is_due(const struct gg_member *member, uint64_t now_ns);

/*
 * Looks at the process now.  Reads its mappings into member->parts, and returns the processor time
 * that this took; 0: no look was possible.
 */
uint64_t gg_look_schedule_take(struct gg_member *member);

/*
 * Sets how many samples the next look chooses, by the processor time that the last one took beside
 * reading the mappings.
 */
void gg_look_schedule_limit_choice(struct gg_look_schedule *looks, uint64_t cost_ns);
