/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the Scheme stack, for a sample.  It is the list that the collector walks, too: nothing
 * is kept for the profiler's sake.
 */
#include "syntax.h"

size_t vm_frames(void *user, struct geiger_frame *frames, size_t capacity)
{
	const struct vm *vm = user;
	size_t count = 0;

	for (const struct frame *frame = vm->frame; frame != NULL && count < capacity;
	     frame = frame->caller) {
		frames[count++] = (struct geiger_frame){
			.function = frame->lambda->name,
			.file = frame->lambda->file,
			.line = frame->at->line,
			.native = frame, /* it is in the C frame that runs it */
		};
	}
	return count;
}
