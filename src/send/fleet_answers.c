/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_answers - reads what a fleet's receiver answers, and makes what it asks for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/codec/gzip.h"
#include "format/import/input.h"
#include "send/fleet_slots.h"

/* Takes bytes with their length in front off the rest. */
static bool take(const char **at, size_t *length, const void **ret_bytes, size_t *ret_length)
{
	uint32_t taken;

	if (*length < sizeof(taken))
		return false;
	memcpy(&taken, *at, sizeof(taken));
	if (taken > *length - sizeof(taken))
		return false;
	*ret_bytes = *at + sizeof(taken);
	*ret_length = taken;
	*at += sizeof(taken) + taken;
	*length -= sizeof(taken) + taken;
	return true;
}

int gg_slot_body_next(struct gg_slot_body *ret_body, const char **at, size_t *length)
{
	if (*length == 0)
		return 0;
	return take(at, length, &ret_body->slot, &ret_body->slot_bytes) &&
	                       take(at, length, &ret_body->definitions,
	                            &ret_body->definitions_bytes)
	               ? 1
	               : -EBADMSG;
}

/* Reads a whole number up to `most`, and moves on. */
static bool read_number(const char **at, unsigned long long most, unsigned long long *ret_value)
{
	unsigned long long value = 0;

	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		value = 10 * value + (unsigned)(**at - '0');
		if (value > most)
			return false;
	}
	*ret_value = value;
	return true;
}

/* "0-5,9" */
static int read_ranges(struct gg_slot_answer *answer, const char *at)
{
	for (;;) {
		unsigned long long first, last;

		if (!read_number(&at, GG_FLEET_ROWS_MAX, &first))
			return -EBADMSG;
		last = first;
		if (*at == '-') {
			at++;
			if (!read_number(&at, GG_FLEET_ROWS_MAX, &last) || last < first)
				return -EBADMSG;
		}
		if (!gg_array_push(&answer->unknown,
		                   (struct gg_slot_index_range){ (uint32_t)first, (uint32_t)last }))
			return -ENOMEM;
		if (*at == '\n' || *at == '\0')
			return 0;
		if (*at++ != ',')
			return -EBADMSG;
	}
}

/* "0123456789abcdef 31250" */
static int read_share(struct gg_slot_answer *answer, const char *at)
{
	struct gg_slot_share share = { 0 };
	unsigned long long ppm;
	char *end;

	share.service = strtoull(at, &end, 16);
	if (end - at != 16 || *end != ' ')
		return -EBADMSG;
	at = end + 1;
	if (!read_number(&at, GG_FLEET_PPM, &ppm) || ppm == 0)
		return -EBADMSG;
	share.ppm = (uint32_t)ppm;
	return gg_array_push(&answer->shares, share) ? 0 : -ENOMEM;
}

int gg_slot_answer_read(struct gg_slot_answer *ret_answer, const char *text)
{
	struct gg_slot_answer answer = { 0 };
	int status = strncmp(text, "geiger-fleet 1\n", 15) == 0 ? 0 : -EBADMSG;

	/* Lines that this sender does not know are those of a newer receiver. */
	for (const char *at = text; status == 0 && at != NULL && *at != '\0';
	     at = strchr(at, '\n'), at = at != NULL ? at + 1 : NULL) {
		if (strncmp(at, "unknown ", 8) == 0)
			status = read_ranges(&answer, at + 8);
		else if (strncmp(at, "selected ", 9) == 0)
			status = read_share(&answer, at + 9);
		else if (strncmp(at, "more\n", 5) == 0)
			answer.has_more = true;
	}
	if (status < 0)
		gg_slot_answer_done(&answer);
	else
		*ret_answer = answer;
	return status;
}

void gg_slot_answer_done(struct gg_slot_answer *answer)
{
	gg_array_done(&answer->unknown);
	gg_array_done(&answer->shares);
}

/* Copies the stacks that the receiver asks for, and their frames. */
static int select_stacks(struct gg_fleet_definitions *to, const struct gg_fleet_definitions *from,
                         const struct gg_slot_answer *answer)
{
	uint32_t *numbers = calloc(from->frames.count + 1, sizeof(*numbers));
	int status = numbers == NULL ? -ENOMEM : 0;

	for (size_t i = 0; status == 0 && i < from->services.count; i++)
		if (!gg_array_push(&to->services, from->services.items[i]))
			status = -ENOMEM;
	for (size_t i = 0; status == 0 && i < answer->unknown.count; i++) {
		const struct gg_slot_index_range *range = &answer->unknown.items[i];

		for (size_t k = range->first; k <= range->last && k < from->stacks.count; k++) {
			struct gg_fleet_stack stack = from->stacks.items[k];
			size_t first = stack.first_frame;

			stack.first_frame = to->stack_frames.count;
			for (size_t n = 0; n < stack.frame_count; n++) {
				uint32_t frame = from->stack_frames.items[first + n];

				if (numbers[frame] == 0) {
					if (!gg_array_push(&to->frames, from->frames.items[frame]))
						status = -ENOMEM;
					numbers[frame] = (uint32_t)to->frames.count;
				}
				if (!gg_array_push(&to->stack_frames, numbers[frame] - 1))
					status = -ENOMEM;
			}
			if (!gg_array_push(&to->stacks, stack))
				status = -ENOMEM;
		}
	}
	/* Frames keep their lines, so the table stays whole. */
	for (size_t i = 0; status == 0 && i < from->lines.count; i++)
		if (!gg_array_push(&to->lines, from->lines.items[i]))
			status = -ENOMEM;
	free(numbers);
	return status;
}

int gg_slot_definitions(struct gg_buf *out, const struct gg_slot_body *body,
                        const struct gg_slot_answer *answer)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };
	struct gg_fleet_definitions all, some = { 0 };
	struct gg_gzip_part packed = { 0 };
	struct gg_error error = { 0 };
	struct gg_input *input;
	const uint8_t *bytes;
	size_t length;
	int status = gg_input_of(&input, body->definitions, body->definitions_bytes, "definitions",
	                         &error);

	if (status < 0)
		return status;
	gg_input_limit(input, GG_FLEET_MESSAGE_MAX);
	status = gg_input_all(input, GG_FLEET_MESSAGE_MAX, &bytes, &length, &error);
	if (status == 0)
		status = gg_fleet_definitions_decode(&all, bytes, length, &error);
	gg_input_close(input);
	if (status < 0)
		return status;
	some.host = all.host;
	some.at_s = all.at_s;
	status = select_stacks(&some, &all, answer);
	if (status == 0) {
		gg_fleet_definitions_encode(&some, &message);
		status = message.failed ? -ENOMEM
		                        : gg_gzip_pack(&packed, message.data, message.length,
		                                       GG_SLOT_GZIP_LEVEL);
	}
	if (status == 0)
		status = gg_gzip_join(out, (const struct gg_gzip_part *[]){ &packed }, 1);
	gg_gzip_part_done(&packed);
	gg_fleet_definitions_done(&some);
	gg_fleet_definitions_done(&all);
	return status;
}
