/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiny_agent - stands for the agent in tests of the way in: it has the agent's entries, allocates
 * as a constructor and an entry may, and counts its calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/attach_request.h"
#include "base/compiler.h"

static int attach_count, detach_count;

__attribute__((constructor)) static void start(void)
{
	free(malloc(100));
}

/* Overwrites what the program must not lose: vector registers, errno, and much of the stack. */
static int disturb(void)
{
	volatile char stack[16384];
	void *blocks[64];

	memset((void *)(uintptr_t)stack, 0x5a, sizeof(stack));
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = malloc(i * 40);
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		free(blocks[i]);
	__asm__ volatile(
		"pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm7, %%xmm7\n\tpcmpeqd %%xmm15, %%xmm15"
		:
		:
		: "xmm0", "xmm7", "xmm15");
	if (open("/nonexistent/file", O_RDONLY) >= 0)
		return 1;
	return stack[100] != 0x5a;
}

static int answer(struct gg_attach_result *result, enum gg_attach_state state, int count)
{
	memset(result, 0, sizeof(*result));
	result->version = GG_ATTACH_VERSION;
	result->bytes = sizeof(*result);
	result->state = state;
	result->slot_count = (uint32_t)count;
	result->status = disturb() ? -EIO : 0;
	result->in_use_bytes = -1;
	return result->status;
}

GG_EXPORT int geiger_agent_attach(const struct gg_attach_request *request,
                                  struct gg_attach_result *ret_result);
GG_EXPORT int geiger_agent_detach(struct gg_attach_result *ret_result);

int geiger_agent_attach(const struct gg_attach_request *request,
                        struct gg_attach_result *ret_result)
{
	int status = answer(ret_result, GG_ATTACH_STATE_ATTACHED, ++attach_count);

	if (request->version != GG_ATTACH_VERSION || request->bytes != sizeof(*request))
		status = ret_result->status = -EPROTO;
	return status;
}

int geiger_agent_detach(struct gg_attach_result *ret_result)
{
	return answer(ret_result, GG_ATTACH_STATE_DETACHED, ++detach_count);
}
