/* SPDX-License-Identifier: Apache-2.0 */
/* top_prompt - asks, reads the answer, and notes the wish. */
#include "top/top_prompt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "region/control.h"
#include "top/top_key.h"

static void tell(struct gg_top_state *state, const char *message)
{
	snprintf(state->message, sizeof(state->message), "%s", message);
}

static void ask(struct gg_top_state *state, enum gg_top_wish wish, enum gg_top_mode mode)
{
	if (state->mode == GG_TOP_MODE_TABLE || state->mode == GG_TOP_MODE_DETAIL)
		state->mode_below = state->mode;
	state->asked = wish;
	state->mode = mode;
}

static void begin_typing(struct gg_top_state *state, enum gg_top_wish wish)
{
	state->typed[0] = '\0';
	ask(state, wish, GG_TOP_MODE_TYPE);
}

/* False, with a message: nobody can change the process, or the user may not. */
static bool may_change(struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	if (state->is_readonly)
		tell(state, "Not with --readonly: sampling stays as it is.");
	else if (!snapshot->process.is_process)
		tell(state, "A profile has no sampling to change.");
	else if (!snapshot->process.is_alive)
		tell(state, "The process has ended.");
	else
		return true;
	return false;
}

/* A look may find sampling switched meanwhile; the user said yes to what the question says. */
static void ask_to_switch(struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	state->switches_on = !snapshot->process.is_active;
	ask(state, GG_TOP_SWITCH, GG_TOP_MODE_QUESTION);
}

bool gg_top_prompt_begin(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                         int key)
{
	switch (key) {
	case 'd':
		begin_typing(state, GG_TOP_SET_DELAY);
		return true;
	case 'w':
	case 'o':
	case 'i':
		break;
	default:
		return false;
	}
	if (snapshot == NULL)
		return true;
	if (snapshot->entries != NULL)
		tell(state, "Open a process first.");
	else if (key == 'w' && !snapshot->process.is_process)
		tell(state, "This is a profile already.");
	else if (key == 'w')
		begin_typing(state, GG_TOP_WRITE);
	else if (may_change(state, snapshot) && key == 'o')
		ask_to_switch(state, snapshot);
	else if (key == 'i' && state->message[0] == '\0')
		begin_typing(state, GG_TOP_SET_INTERVAL);
	return true;
}

void gg_top_prompt_ask_to_attach(struct gg_top_state *state, uint32_t pid)
{
	if (state->is_readonly) {
		tell(state, "Not with --readonly: the process stays without the agent.");
		return;
	}
	state->attach_pid = pid;
	ask(state, GG_TOP_ATTACH, GG_TOP_MODE_QUESTION);
}

void gg_top_prompt_ask_to_replace(struct gg_top_state *state)
{
	ask(state, GG_TOP_REPLACE, GG_TOP_MODE_QUESTION);
}

static void take_delay(struct gg_top_state *state)
{
	char *end;
	double seconds = strtod(state->typed, &end);

	if (end == state->typed || *end != '\0' || !(seconds >= 1 && seconds <= 86400)) {
		tell(state, "The time between looks is at least 1 s and at most a day.");
		return;
	}
	state->delay_seconds = seconds;
	state->wish = GG_TOP_SET_DELAY;
}

static void take_interval(struct gg_top_state *state)
{
	if (gg_size_parse(state->typed, &state->interval_bytes) < 0 || state->interval_bytes == 0 ||
	    state->interval_bytes > GG_REGION_INTERVAL_MAX)
		tell(state, "Give a size such as 4096, 64k, 512KiB or 1.5M.");
	else
		ask(state, GG_TOP_SET_INTERVAL, GG_TOP_MODE_QUESTION);
}

/* The typed text is complete. */
static void take_text(struct gg_top_state *state)
{
	state->mode = state->mode_below;
	if (state->asked == GG_TOP_SET_DELAY)
		take_delay(state);
	else if (state->asked == GG_TOP_SET_INTERVAL)
		take_interval(state);
	else if (state->typed[0] != '\0')
		state->wish = GG_TOP_WRITE;
}

void gg_top_prompt_type(char text[GG_TOP_TEXT_MAX], int key)
{
	enum { CONTROL_U = 'u' & 0x1f };
	size_t length = strlen(text);

	if (key == GG_TOP_KEY_BACKSPACE)
		text[length > 0 ? length - 1 : 0] = '\0';
	else if (key == CONTROL_U)
		text[0] = '\0';
	/* Names are searched as they are shown; other characters cannot be typed. */
	if (key < 0x20 || key > 0x7e || length + 1 >= GG_TOP_TEXT_MAX)
		return;
	text[length] = (char)key;
	text[length + 1] = '\0';
}

void gg_top_prompt_press(struct gg_top_state *state, int key)
{
	if (state->mode == GG_TOP_MODE_QUESTION) {
		state->mode = state->mode_below;
		if (key == 'y' || key == 'Y')
			state->wish = state->asked;
		else
			tell(state, "Nothing was changed.");
		return;
	}
	if (key == GG_TOP_KEY_ENTER)
		take_text(state);
	else if (key == GG_TOP_KEY_ESCAPE)
		state->mode = state->mode_below;
	else
		gg_top_prompt_type(state->typed, key);
}

static void append_question(const struct gg_top_state *state,
                            const struct gg_top_snapshot *snapshot, struct gg_buf *out)
{
	char size[GG_SIZE_TEXT_MAX];

	switch (state->asked) {
	case GG_TOP_SWITCH:
		gg_buf_printf(out, "Switch sampling %s in process %" PRIu32 "?",
		              state->switches_on ? "on" : "off", snapshot->process.pid);
		break;
	case GG_TOP_SET_INTERVAL:
		gg_buf_printf(out, "One sample per %s in process %" PRIu32 "?",
		              gg_size_format_short((double)state->interval_bytes, size),
		              snapshot->process.pid);
		break;
	case GG_TOP_ATTACH:
		gg_buf_printf(out, "Process %" PRIu32 " has no agent. Attach it?",
		              state->attach_pid);
		break;
	default:
		gg_buf_printf(out, "%s exists. Replace it?", state->typed);
	}
	gg_buf_append_text(out, "  y yes  any other key no");
}

void gg_top_prompt_append(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                          struct gg_buf *out)
{
	char size[GG_SIZE_TEXT_MAX];

	if (state->mode == GG_TOP_MODE_QUESTION) {
		append_question(state, snapshot, out);
		return;
	}
	if (state->asked == GG_TOP_WRITE)
		gg_buf_append_text(out, state->is_paused ? "write a profile as of now, not of the "
		                                           "paused display, to the file: "
		                                         : "write a profile to the file: ");
	else if (state->asked == GG_TOP_SET_INTERVAL)
		gg_buf_printf(out, "bytes per sample, now %s: ",
		              gg_size_format_short((double)snapshot->process.interval_bytes, size));
	else
		gg_buf_printf(out, "seconds between looks, now %g: ", state->delay_seconds);
	gg_buf_printf(out, "%s_", state->typed);
}
