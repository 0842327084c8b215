/* SPDX-License-Identifier: Apache-2.0 */
/* top_screen - draws looks on the terminal, and does what keys ask for. */
#include "top/top_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/regions/find_region.h"
#include "record/regions/process_alive.h"
#include "report/figure.h"
#include "top/top_attach.h"
#include "top/top_frame.h"
#include "top/top_keys.h"
#include "top/top_looks.h"
#include "top/top_mouse.h"
#include "top/top_prompt.h"
#include "top/top_terminal.h"

enum {
	TICK_MS = 1000,
	TICK_WAITING_MS = 100, /* while a region, an attach, or the end of a command is awaited */
	OUTPUT_BYTES = 65536,  /* the end of the output of a command, which a key shows */
	PATIENCE_S = 3,        /* after which the screen says why it still waits */
};

/* A screen that is shown. */
struct screen_run {
	const struct gg_top_screen *screen;
	struct gg_top_looks *looks;
	struct gg_top_view view;
	double delay_seconds; /* between looks, of every target */
	char *opened;         /* of the view */
	struct gg_top_state state;
	struct gg_top_snapshot *snapshot; /* NULL: none yet */
	const char *news;                 /* of the snapshot */
	struct gg_top_grid grid;
	struct gg_error error;   /* of the last look */
	struct gg_error refusal; /* of the last wish, until the next key; status 0: none */
	/* The list of processes, from which the target was opened. */
	bool has_list;
	struct gg_top_state list_state;
	uint32_t list_pid; /* the process that gets the cursor when the list comes; 0: none */
	/* A process whose region is awaited; 0: none. */
	uint32_t awaited_pid;
	uint64_t awaited_since_ns;
	struct gg_top_attach *attach; /* NULL: none runs */
	uint32_t attached_pid;        /* the process that got the agent last; 0: none */
	bool offers_attach;           /* the target has no agent: without an attach it ends */
	struct gg_buf output;         /* of the command */
	bool has_told_end;            /* of the command */
};

bool gg_top_screen_is_possible(int input_fd, int output_fd)
{
	const char *terminal = getenv("TERM");

	return isatty(input_fd) && isatty(output_fd) && terminal != NULL && terminal[0] != '\0' &&
	       strcmp(terminal, "dumb") != 0;
}

/* The text of a screen without a look. */
static void append_waiting(const struct screen_run *run, struct gg_buf *text)
{
	const struct gg_error *error = run->refusal.status < 0 ? &run->refusal : &run->error;

	if (run->attach != NULL)
		gg_buf_printf(text, "Attaching the agent to process %" PRIu32 " ...",
		              gg_top_attach_pid(run->attach));
	else if (run->awaited_pid != 0)
		gg_buf_printf(text, "Process %" PRIu32 " begins ...", run->awaited_pid);
	else if (error->status == 0)
		gg_buf_append_text(text, "The first look ...");
	if (run->awaited_pid != 0 &&
	    gg_clock_monotonic_ns() - run->awaited_since_ns < PATIENCE_S * GG_NS_PER_S)
		return;
	if (error->status < 0 && run->attach == NULL)
		gg_buf_printf(text, "%s%s: %s", text->length > 0 ? "  " : "", error->place,
		              error->message);
}

static void draw(struct screen_run *run)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_top_terminal_size(&run->state.width, &run->state.height);
	if (run->snapshot != NULL) {
		if (run->has_told_end)
			gg_top_command_describe_end(run->screen->command, &run->snapshot->process);
		/* An error stands above the old numbers. */
		run->snapshot->process.news = run->refusal.status < 0 ? run->refusal.message
		                              : run->error.status < 0 ? run->error.message
		                                                      : run->news;
		gg_top_frame_draw(&run->grid, &run->state, run->snapshot);
	} else {
		append_waiting(run, &text);
		gg_top_frame_draw_waiting(&run->grid, &run->state, gg_buf_text(&text));
	}
	gg_top_terminal_put(&run->grid);
}

/* --- keys ----------------------------------------------------------------------------------- */

static bool is_equal(const char *one, const char *other)
{
	return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* The looks have a copy of the view, so the text that was shown before may be gone by now. */
static void set_view(struct screen_run *run)
{
	free(run->opened);
	run->opened = run->state.opened != NULL ? strdup(run->state.opened) : NULL;
	run->view.by = run->state.by;
	run->view.metric = run->state.metric;
	run->view.is_tree = run->state.is_tree;
	run->view.opened = run->opened;
	run->view.has_why = run->state.mode == GG_TOP_MODE_WHY;
	run->view.lists_all = run->state.lists_all;
	gg_top_looks_set_view(run->looks, &run->view);
}

/* Begins to look at a target, or at the list (NULL), instead of the one before. */
static bool turn_to(struct screen_run *run, const char *target)
{
	struct gg_error *error = &run->refusal;
	struct gg_top_source *source;
	struct gg_top_looks *looks;

	if (gg_top_source_open(&source, target, run->view.confidence, error) < 0)
		return false;
	if (gg_top_looks_start(&looks, source, &run->view, run->delay_seconds, error) < 0) {
		gg_top_source_free(source);
		return false;
	}
	gg_top_looks_stop(run->looks);
	run->looks = looks;
	gg_top_snapshot_free(run->snapshot);
	run->snapshot = NULL;
	run->error = (struct gg_error){ 0 };
	return true;
}

static void begin_target(struct screen_run *run)
{
	gg_top_state_init(&run->state, run->state.width, run->state.height);
	run->state.ascii = run->screen->ascii;
	run->state.is_readonly = run->screen->is_readonly;
	run->state.delay_seconds = run->delay_seconds;
	run->state.by = run->view.by;
	run->state.metric = run->view.metric;
	run->state.lists_all = run->view.lists_all;
	if (run->view.metric == GG_TOP_GROWTH)
		run->state.sort = GG_TOP_BY_CHANGE;
	if (run->view.has_why)
		run->state.mode = GG_TOP_MODE_WHY; /* its end leads to the table */
}

/* Turns to a target, and keeps the list for the way back if it is shown now. */
static bool open_target(struct screen_run *run, const char *target)
{
	bool is_list = run->snapshot != NULL && run->snapshot->entries != NULL;

	if (!turn_to(run, target))
		return false;
	if (is_list && run->has_list)
		gg_top_state_done(&run->list_state);
	if (is_list) {
		run->list_state = run->state;
		run->has_list = true;
	} else {
		gg_top_state_done(&run->state);
	}
	begin_target(run);
	return true;
}

static bool open_pid(struct screen_run *run, uint32_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, pid);
	return open_target(run, text);
}

/* Opens the process under the cursor of the list.  A running one is followed by its pid. */
static void open_entry(struct screen_run *run)
{
	size_t *order = calloc(run->snapshot->row_count + 1, sizeof(*order)), count;
	const struct gg_top_entry *entry;

	if (order == NULL)
		return;
	count = gg_top_state_order(&run->state, run->snapshot, order);
	if (run->state.cursor < count) {
		entry = &run->snapshot->entries[order[run->state.cursor]];
		if (entry->is_alive)
			open_pid(run, entry->pid);
		else
			open_target(run, entry->target);
	}
	free(order);
}

/* Shows the list again, or for the first time. */
static void turn_to_list(struct screen_run *run)
{
	enum gg_grouping by = run->state.by;
	enum gg_top_metric metric = run->state.metric;
	bool is_known = run->has_list;

	run->list_pid = run->snapshot != NULL ? run->snapshot->process.pid : 0;
	if (!turn_to(run, NULL))
		return;
	gg_top_state_done(&run->state);
	if (is_known)
		run->state = run->list_state;
	else
		begin_target(run);
	run->has_list = false;
	/* The next process is shown as this one was. */
	run->state.delay_seconds = run->delay_seconds;
	run->state.by = by;
	run->state.metric = metric;
	if (!is_known && run->state.sort == GG_TOP_BY_CHANGE)
		run->state.sort = GG_TOP_BY_SELF;
}

/* Gives the cursor of a new list to the process that was shown before. */
static void follow_listed(struct screen_run *run)
{
	const struct gg_top_snapshot *snapshot = run->snapshot;

	for (size_t i = 0; snapshot->entries != NULL && i < snapshot->row_count; i++)
		if (snapshot->entries[i].is_alive && snapshot->entries[i].pid == run->list_pid)
			gg_top_state_follow(&run->state, snapshot->rows[i].label);
	run->list_pid = 0;
}

/* --- processes that get an agent ------------------------------------------------------------ */

static void await_region(struct screen_run *run, uint32_t pid)
{
	run->awaited_pid = pid;
	run->awaited_since_ns = gg_clock_monotonic_ns();
}

static void start_attach(struct screen_run *run)
{
	run->offers_attach = false;
	run->refusal = (struct gg_error){ 0 };
	if (run->attach == NULL)
		run->attach = gg_top_attach_start(run->state.attach_pid);
	snprintf(run->state.message, sizeof(run->state.message), "%s",
	         run->attach != NULL ? "Attaching, for at most 10 s ..."
	                             : "The attach could not be started.");
}

/* Without a target there is nothing to show, so a failure ends the screen with its error. */
static void take_attach(struct screen_run *run)
{
	char message[GG_TOP_MESSAGE_MAX];
	uint32_t pid = gg_top_attach_pid(run->attach);
	bool is_attached;

	if (!gg_top_attach_has_ended(run->attach, &is_attached, message))
		return;
	gg_top_attach_free(run->attach);
	run->attach = NULL;
	if (is_attached) {
		run->attached_pid = pid;
		await_region(run, pid);
		return;
	}
	memcpy(run->state.message, message, sizeof(message));
	if (run->looks != NULL)
		return;
	gg_error_set(&run->error, -EIO, "", NULL, "%s", message);
	run->state.wants_quit = true;
}

/* Tells how the command ended, and shows its profile if no look came in time. */
static void take_end(struct screen_run *run)
{
	struct gg_top_command *command = run->screen->command;
	int status = gg_top_command_exit_status(command);

	run->has_told_end = true;
	run->awaited_pid = 0;
	if (run->snapshot == NULL)
		open_target(run, gg_top_command_profile(command));
	snprintf(run->state.message, sizeof(run->state.message),
	         "The recording ended with status %d; q quits, and prints the output.", status);
}

/* Goes on with everything that is awaited. */
static void go_on(struct screen_run *run)
{
	struct gg_top_command *command = run->screen->command;

	if (run->attach != NULL)
		take_attach(run);
	if (run->awaited_pid != 0 && open_pid(run, run->awaited_pid))
		run->awaited_pid = 0;
	if (command == NULL)
		return;
	if (!run->has_told_end && gg_top_command_has_ended(command))
		take_end(run);
	gg_buf_clear(&run->output);
	gg_top_command_append_output(command, OUTPUT_BYTES, &run->output);
	run->state.output = gg_buf_text(&run->output);
}

static bool is_waiting(const struct screen_run *run)
{
	return run->attach != NULL || run->awaited_pid != 0 ||
	       (run->screen->command != NULL && !run->has_told_end);
}

/* --- wishes --------------------------------------------------------------------------------- */

/* Fulfills what a prompt was answered for. */
static void fulfill(struct screen_run *run)
{
	struct gg_top_state *state = &run->state;
	enum gg_top_wish wish = state->wish;
	const struct gg_region_change switched = { .set_active = true,
		                                   .active = state->switches_on };
	const struct gg_region_change interval = { .interval_bytes = state->interval_bytes };

	state->wish = GG_TOP_NOTHING;
	if (wish == GG_TOP_WRITE && access(state->typed, F_OK) == 0)
		gg_top_prompt_ask_to_replace(state);
	else if (wish == GG_TOP_WRITE || wish == GG_TOP_REPLACE)
		gg_top_looks_write(run->looks, state->typed);
	else if (wish == GG_TOP_SWITCH)
		gg_top_looks_change(run->looks, &switched);
	else if (wish == GG_TOP_SET_INTERVAL)
		gg_top_looks_change(run->looks, &interval);
	else if (wish == GG_TOP_ATTACH)
		start_attach(run);
	else if (wish == GG_TOP_SET_DELAY) {
		run->delay_seconds = state->delay_seconds;
		if (run->looks != NULL)
			gg_top_looks_set_delay(run->looks, run->delay_seconds);
	}
}

/* Tells the looks about a new view or mark. */
static void pass_on(struct screen_run *run)
{
	if (run->state.wants_open && run->snapshot != NULL)
		open_entry(run);
	else if (run->state.wants_list || (run->state.wants_back && run->has_list))
		turn_to_list(run);
	run->state.wants_open = run->state.wants_back = run->state.wants_list = false;
	if (run->looks == NULL) {
		fulfill(run);
		return;
	}
	if (run->state.by != run->view.by || run->state.metric != run->view.metric ||
	    run->state.lists_all != run->view.lists_all ||
	    run->view.has_why != (run->state.mode == GG_TOP_MODE_WHY) ||
	    run->state.is_tree != run->view.is_tree || !is_equal(run->state.opened, run->opened))
		set_view(run);
	if (run->state.wants_mark)
		gg_top_looks_mark(run->looks);
	run->state.wants_mark = false;
	fulfill(run);
}

static void read_keys(struct screen_run *run)
{
	enum { CONTROL_L = 'l' & 0x1f };
	struct gg_top_mouse mouse;
	int key;

	while ((key = gg_top_terminal_key(&mouse)) != 0) {
		if (run->awaited_pid == 0 && run->looks != NULL)
			run->refusal = (struct gg_error){ 0 };
		if (key == CONTROL_L)
			gg_top_terminal_redraw();
		else if (key == GG_TOP_KEY_MOUSE)
			gg_top_mouse_press(&run->state, run->snapshot, &run->grid, &mouse);
		else if (key != GG_TOP_KEY_NONE)
			gg_top_keys_press(&run->state, run->snapshot, key);
		pass_on(run);
		if (run->offers_attach && run->state.mode != GG_TOP_MODE_QUESTION)
			run->state.wants_quit = true; /* the answer was no */
	}
}

/* Ctrl-C interrupts a command that runs, as it would without geiger; other signals end both. */
static void take_signal(struct screen_run *run)
{
	struct gg_top_command *command = run->screen->command;

	if (gg_top_terminal_signal == 0 || command == NULL)
		return;
	if (gg_top_terminal_signal != SIGINT || run->has_told_end)
		return;
	gg_top_terminal_signal = 0;
	gg_top_command_signal(command, SIGINT);
	snprintf(run->state.message, sizeof(run->state.message),
	         "The command got an interrupt (Ctrl-C); q quits.");
}

/* A paused screen keeps its snapshot, unless the user chose another view. */
static void take_snapshot(struct screen_run *run)
{
	struct gg_top_snapshot *snapshot;

	if (run->looks == NULL)
		return;
	gg_top_looks_take_answer(run->looks, run->state.message);
	if (!gg_top_looks_take(run->looks, &snapshot, &run->error))
		return;
	if (run->state.is_paused && run->snapshot != NULL &&
	    gg_top_snapshot_is_of_one_view(run->snapshot, snapshot)) {
		gg_top_snapshot_free(snapshot);
		return;
	}
	gg_top_snapshot_free(run->snapshot);
	run->snapshot = snapshot;
	run->news = snapshot->process.news;
	if (run->list_pid != 0)
		follow_listed(run);
	gg_top_state_update(&run->state, snapshot);
}

static void show(struct screen_run *run)
{
	struct pollfd ready[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };

	for (;;) {
		go_on(run);
		take_signal(run);
		if (run->state.wants_quit || gg_top_terminal_signal != 0)
			break;
		draw(run);
		/* Another target has other looks. */
		ready[1].fd = run->looks != NULL ? gg_top_looks_fd(run->looks) : -1;
		ready[1].revents = 0;
		/* A signal may come just before poll(); the time limit bounds that wait. */
		if (poll(ready, GG_COUNT(ready), is_waiting(run) ? TICK_WAITING_MS : TICK_MS) < 0 &&
		    errno != EINTR)
			break;
		if ((ready[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
			break;
		if ((ready[1].revents & POLLIN) != 0)
			take_snapshot(run);
		read_keys(run);
	}
}

/* Prints the line that stays: "geiger top: process 4711: live 271.4 MiB +- 9 %". */
static void print_last(const struct screen_run *run)
{
	const struct gg_figure_style figures = { .ascii = run->screen->ascii };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (run->snapshot == NULL || run->snapshot->entries != NULL)
		return;
	gg_figure_append(&figures, &run->snapshot->live, &text);
	printf("geiger top: ");
	if (run->snapshot->process.pid != 0)
		printf("process %" PRIu32 ": ", run->snapshot->process.pid);
	printf("live %s\n", gg_buf_text(&text));
	if (run->attached_pid != 0)
		printf("geiger top: the agent stays in process %" PRIu32
		       " until: geiger detach %" PRIu32 "\n",
		       run->attached_pid, run->attached_pid);
	fflush(stdout);
}

/* Opens the target, awaits its region, or offers to attach the agent to it. */
static int begin(struct screen_run *run, struct gg_error *error)
{
	const struct gg_top_screen *screen = run->screen;
	struct gg_top_source *source;
	int status;

	if (screen->command != NULL) {
		await_region(run, (uint32_t)gg_top_command_pid(screen->command));
		return 0;
	}
	status = gg_top_source_open(&source, screen->target, screen->view.confidence, error);
	if (status == -ENOENT && !screen->is_readonly && gg_find_region_is_pid(screen->target)) {
		run->offers_attach = true;
		run->refusal = *error;
		gg_top_prompt_ask_to_attach(&run->state,
		                            (uint32_t)strtoul(screen->target, NULL, 10));
		return 0;
	}
	if (status == 0) {
		status = gg_top_looks_start(&run->looks, source, &run->view, run->delay_seconds,
		                            error);
		if (status < 0)
			gg_top_source_free(source);
	}
	return status;
}

/* Signals but the Ctrl-C of a command end this program, and reach the command as well. */
static void end_by_signal(const struct screen_run *run)
{
	int number = gg_top_terminal_signal;

	if (number == 0 || (number == SIGINT && run->screen->command != NULL))
		return;
	if (run->screen->command != NULL)
		gg_top_command_signal(run->screen->command, number);
	signal(number, SIG_DFL);
	raise(number);
}

static void screen_done(struct screen_run *run)
{
	gg_top_looks_stop(run->looks);
	gg_top_snapshot_free(run->snapshot);
	gg_top_state_done(&run->state);
	if (run->has_list)
		gg_top_state_done(&run->list_state);
	gg_top_grid_done(&run->grid);
	gg_top_attach_free(run->attach);
	gg_buf_done(&run->output);
	free(run->opened);
}

int gg_top_screen_run(const struct gg_top_screen *screen, struct gg_error *error)
{
	struct screen_run run = { .screen = screen,
		                  .view = screen->view,
		                  .delay_seconds = screen->delay_seconds };
	/* Only the types of characters: numbers are printed as in every command. */
	locale_t types = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	locale_t former = types != (locale_t)0 ? uselocale(types) : (locale_t)0;
	int status;

	run.state.width = 80;
	run.state.height = 24;
	begin_target(&run);
	status = begin(&run, error);
	if (status == 0 && !gg_top_terminal_open(screen->has_color, !screen->has_no_mouse))
		status = gg_error_set(error, -ENOTSUP, "top", "Use --batch.",
		                      "ncurses does not know this terminal");
	if (status == 0) {
		show(&run);
		gg_top_terminal_close();
		print_last(&run);
	}
	/* The user did not want the attach, or it failed. */
	if (status == 0 && screen->command == NULL && run.looks == NULL &&
	    gg_top_terminal_signal == 0) {
		*error = run.error.status < 0 ? run.error : run.refusal;
		status = error->status;
	}
	end_by_signal(&run);
	screen_done(&run);
	if (former != (locale_t)0)
		uselocale(former);
	if (types != (locale_t)0)
		freelocale(types);
	if (status == 0 && screen->command != NULL) {
		gg_top_terminal_signal = 0;
		return gg_top_command_finish(screen->command, &gg_top_terminal_signal);
	}
	return status;
}
