/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_signs - says that the receiver is there, also if nobody sends it anything.
 *
 * Agents never say that a process has ended, so a question takes silence for an end.  While the
 * receiver is away its processes are silent as well.  So a row of `batch` is the sign that the
 * receiver was there: every segment has one, and a tenant whose processes are silent gets an empty
 * segment once a slot.  The queue keeps the order, so a sign comes after all looks before it.
 *
 * A receiver that was started again signs for a tenant from the tenant's first profile on.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "fleet/receive_internal.h"

/* More tenants have the signs of their segments alone. */
enum { SIGN_TENANTS_MAX = 1024, SIGN_SECONDS = 600 };

static struct gg_receive_sign *sign_of(struct gg_receive *receive, const char *tenant)
{
	struct gg_receive_sign *sign;

	for (size_t i = 0; i < receive->signs.count; i++)
		if (strcmp(receive->signs.items[i].tenant, tenant) == 0)
			return &receive->signs.items[i];
	if (receive->signs.count >= SIGN_TENANTS_MAX)
		return NULL;
	sign = gg_array_add(&receive->signs);
	if (sign != NULL)
		snprintf(sign->tenant, sizeof(sign->tenant), "%s", tenant);
	return sign;
}

void gg_receive_note_sign(struct gg_receive *receive, const char *tenant)
{
	struct gg_receive_sign *sign = sign_of(receive, tenant);

	if (sign != NULL)
		sign->at_ns = gg_clock_monotonic_ns();
}

void gg_receive_send_signs(struct gg_receive *receive)
{
	uint32_t seconds = receive->options->slot_seconds > 0 ? receive->options->slot_seconds
	                                                      : SIGN_SECONDS;
	uint64_t now_ns = gg_clock_monotonic_ns();

	for (size_t i = 0; i < receive->signs.count; i++) {
		struct gg_receive_sign *sign = &receive->signs.items[i];
		const struct gg_segment nothing = { 0 };
		struct gg_receive_answer ignored = { 0 };

		if (now_ns - sign->at_ns < seconds * GG_NS_PER_S || !gg_receive_has_queue(receive))
			continue;
		/* A full disk takes no sign; the next one is due in a slot. */
		gg_receive_seal(receive, sign->tenant, &nothing, &ignored);
		gg_buf_done(&ignored.body);
		sign->at_ns = now_ns;
	}
}
