/* SPDX-License-Identifier: Apache-2.0 */
/* top_screen - puts grids on a terminal by ncurses, reads keys, and restores the terminal. */
#define NCURSES_WIDECHAR 1
#include "top/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/printable.h"
#include "report/figure.h"
#include "top/top_frame.h"
#include "top/top_keys.h"
#include "top/top_looks.h"
#include "top/top_prompt.h"

/* Milliseconds after which a lone Esc is a key of its own. */
enum { ESCAPE_MS = 25 };

/* The terminal as it was, and the texts that restore it, for handlers of signals. */
static struct {
	struct termios settings;
	bool has_settings;
	char restore[256]; /* sequences that leave the screen and show the cursor */
	size_t restore_length;
} before;

static volatile sig_atomic_t ending_signal; /* a signal of `endings` came; 0: none */

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
};

bool gg_top_screen_is_possible(int input_fd, int output_fd)
{
	const char *terminal = getenv("TERM");

	return isatty(input_fd) && isatty(output_fd) && terminal != NULL && terminal[0] != '\0' &&
	       strcmp(terminal, "dumb") != 0;
}

/* --- the terminal as it was ----------------------------------------------------------------- */

/* A handler of a crash cannot pad, so it leaves the padding out, such as "$<5>". */
static void add_sequence(const char *name)
{
	const char *sequence = tigetstr(name);
	size_t length = before.restore_length;

	if (sequence == NULL || sequence == (char *)-1)
		return;
	for (const char *at = sequence; *at != '\0'; at++) {
		const char *end = at[0] == '$' && at[1] == '<' ? strchr(at, '>') : NULL;

		if (end != NULL) {
			at = end;
			continue;
		}
		if (length == sizeof(before.restore))
			return; /* half a sequence would be worse than none */
		before.restore[length++] = *at;
	}
	before.restore_length = length;
}

/* endwin() may not run in a handler of a crash, but write() and tcsetattr() may. */
static void restore_in_crash(int signal_number)
{
	ssize_t written = write(STDOUT_FILENO, before.restore, before.restore_length);

	(void)written;
	if (before.has_settings)
		tcsetattr(STDIN_FILENO, TCSANOW, &before.settings);
	raise(signal_number); /* SA_RESETHAND has restored the default action */
}

static void note_end(int signal_number)
{
	ending_signal = signal_number;
}

static void handle_signals(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction crash = { .sa_handler = restore_in_crash, .sa_flags = (int)SA_RESETHAND };
	struct sigaction end = { .sa_handler = note_end };

	sigemptyset(&crash.sa_mask);
	sigemptyset(&end.sa_mask);
	for (size_t i = 0; i < GG_COUNT(crashes); i++)
		sigaction(crashes[i], &crash, NULL);
	for (size_t i = 0; i < GG_COUNT(endings); i++)
		sigaction(endings[i], &end, NULL);
}

/* False: the terminal is unknown. */
static bool open_terminal(const struct gg_top_screen *screen)
{
	before.has_settings = tcgetattr(STDIN_FILENO, &before.settings) == 0;
	if (newterm(NULL, stdout, stdin) == NULL)
		return false;
	before.restore_length = 0;
	add_sequence("sgr0");
	add_sequence("rmkx");
	add_sequence("cnorm");
	add_sequence("rmcup");
	handle_signals();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	if (screen->has_color && has_colors() && start_color() == OK) {
		use_default_colors();
		init_pair(GG_TOP_GREW, COLOR_RED, -1);
		init_pair(GG_TOP_SHRANK, COLOR_GREEN, -1);
		init_pair(GG_TOP_WARNING, COLOR_YELLOW, -1);
	}
	return true;
}

/* --- drawing -------------------------------------------------------------------------------- */

static attr_t attributes_of(const struct screen_run *run, uint8_t style)
{
	bool has_color = run->screen->has_color && has_colors();

	switch (style) {
	case GG_TOP_HEADING:
		return A_UNDERLINE;
	case GG_TOP_STRONG:
		return A_BOLD;
	case GG_TOP_CURSOR:
		return A_REVERSE;
	case GG_TOP_GREW:
	case GG_TOP_SHRANK:
	case GG_TOP_WARNING:
		return A_BOLD | (has_color ? COLOR_PAIR(style) : 0);
	default:
		return A_NORMAL;
	}
}

/* Puts the characters of a cell.  ncurses would read bytes of UTF-8 as 8-bit characters. */
static void put_cell(int row, int column, const char *text)
{
	wchar_t wide[GG_TOP_CELL_BYTES];
	size_t length = strlen(text);
	int count = 0, code;

	for (size_t at = 0; at < length;) {
		at += gg_printable_next(text + at, length - at, &code);
		wide[count++] = (wchar_t)code;
	}
	mvaddnwstr(row, column, wide, count);
}

/* ncurses sends only the cells that changed. */
static void put_grid(const struct screen_run *run)
{
	erase();
	for (size_t row = 0; row < run->grid.height; row++)
		for (size_t column = 0; column < run->grid.width; column++) {
			const struct gg_top_cell *cell = gg_top_grid_cell(&run->grid, row, column);

			if (cell->text[0] == '\0' ||
			    (cell->style == GG_TOP_PLAIN && strcmp(cell->text, " ") == 0))
				continue;
			attrset(attributes_of(run, cell->style));
			put_cell((int)row, (int)column, cell->text);
		}
	attrset(A_NORMAL);
	refresh();
}

static void draw(struct screen_run *run)
{
	int height, width;

	getmaxyx(stdscr, height, width);
	run->state.width = width > 0 ? (size_t)width : 1;
	run->state.height = height > 0 ? (size_t)height : 1;
	if (run->snapshot != NULL) {
		/* An error stands above the old numbers. */
		run->snapshot->process.news = run->refusal.status < 0 ? run->refusal.message
		                              : run->error.status < 0 ? run->error.message
		                                                      : run->news;
		gg_top_frame_draw(&run->grid, &run->state, run->snapshot);
	} else {
		gg_top_grid_resize(&run->grid, run->state.width, run->state.height);
		gg_top_grid_put(&run->grid, 0, 0,
		                run->error.status < 0 ? run->error.message : "The first look ...",
		                GG_TOP_PLAIN);
	}
	put_grid(run);
}

/* --- keys ----------------------------------------------------------------------------------- */

static int key_of(int key)
{
	static const struct {
		int of_curses, key;
	} keys[] = {
		{ KEY_UP, GG_TOP_KEY_UP },           { KEY_DOWN, GG_TOP_KEY_DOWN },
		{ KEY_LEFT, GG_TOP_KEY_LEFT },       { KEY_RIGHT, GG_TOP_KEY_RIGHT },
		{ KEY_F(5), GG_TOP_KEY_TREE },       { KEY_PPAGE, GG_TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, GG_TOP_KEY_PAGE_DOWN }, { KEY_HOME, GG_TOP_KEY_HOME },
		{ KEY_END, GG_TOP_KEY_END },         { KEY_BACKSPACE, GG_TOP_KEY_BACKSPACE },
		{ 0x7f, GG_TOP_KEY_BACKSPACE },      { '\b', GG_TOP_KEY_BACKSPACE },
		{ KEY_ENTER, GG_TOP_KEY_ENTER },     { '\r', GG_TOP_KEY_ENTER },
		{ '\n', GG_TOP_KEY_ENTER },          { '\x1b', GG_TOP_KEY_ESCAPE },
		{ KEY_F(1), GG_TOP_KEY_HELP },       { KEY_F(3), GG_TOP_KEY_SEARCH },
		{ KEY_F(4), GG_TOP_KEY_FILTER },     { KEY_F(6), GG_TOP_KEY_SORT },
		{ KEY_F(10), GG_TOP_KEY_QUIT },
	};

	for (size_t i = 0; i < GG_COUNT(keys); i++)
		if (keys[i].of_curses == key)
			return keys[i].key;
	return key < KEY_MIN ? key : 0; /* 0 does nothing */
}

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

/* Opens the process under the cursor of the list.  A running one is followed by its pid. */
static void open_entry(struct screen_run *run)
{
	size_t *order = calloc(run->snapshot->row_count + 1, sizeof(*order)), count;
	const struct gg_top_entry *entry;
	char pid[16];

	if (order == NULL)
		return;
	count = gg_top_state_order(&run->state, run->snapshot, order);
	if (run->state.cursor < count) {
		entry = &run->snapshot->entries[order[run->state.cursor]];
		snprintf(pid, sizeof(pid), "%" PRIu32, entry->pid);
		if (turn_to(run, entry->is_alive ? pid : entry->target)) {
			run->list_state = run->state;
			run->has_list = true;
			begin_target(run);
		}
	}
	free(order);
}

static void return_to_list(struct screen_run *run)
{
	if (!run->has_list || !turn_to(run, NULL))
		return;
	/* The next process is shown as this one was. */
	run->list_state.delay_seconds = run->delay_seconds;
	run->list_state.by = run->state.by;
	run->list_state.metric = run->state.metric;
	gg_top_state_done(&run->state);
	run->state = run->list_state;
	run->has_list = false;
}

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
	else if (wish == GG_TOP_SET_DELAY) {
		run->delay_seconds = state->delay_seconds;
		gg_top_looks_set_delay(run->looks, run->delay_seconds);
	}
}

/* Tells the looks about a new view or mark. */
static void pass_on(struct screen_run *run)
{
	if (run->state.wants_open && run->snapshot != NULL)
		open_entry(run);
	else if (run->state.wants_back)
		return_to_list(run);
	run->state.wants_open = run->state.wants_back = false;
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
	int key;

	while ((key = getch()) != ERR) {
		run->refusal = (struct gg_error){ 0 };
		if (key == CONTROL_L)
			clearok(stdscr, TRUE);
		else if (key != KEY_RESIZE)
			gg_top_keys_press(&run->state, run->snapshot, key_of(key));
		pass_on(run);
	}
}

/* A paused screen keeps its snapshot, unless the user chose another view. */
static void take_snapshot(struct screen_run *run)
{
	struct gg_top_snapshot *snapshot;

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
	gg_top_state_update(&run->state, snapshot);
}

static void show(struct screen_run *run)
{
	struct pollfd ready[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };

	while (!run->state.wants_quit && ending_signal == 0) {
		draw(run);
		ready[1].fd = gg_top_looks_fd(run->looks); /* another target has other looks */
		/* A signal may come just before poll(); the time limit bounds that wait. */
		if (poll(ready, GG_COUNT(ready), 1000) < 0 && errno != EINTR)
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
	fflush(stdout);
}

int gg_top_screen_run(const struct gg_top_screen *screen, struct gg_error *error)
{
	struct screen_run run = { .screen = screen,
		                  .view = screen->view,
		                  .delay_seconds = screen->delay_seconds };
	/* Only the types of characters: numbers are printed as in every command. */
	locale_t types = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	locale_t former = types != (locale_t)0 ? uselocale(types) : (locale_t)0;
	struct gg_top_source *source;
	int status = gg_top_source_open(&source, screen->target, screen->view.confidence, error);

	run.state.width = 80;
	run.state.height = 24;
	begin_target(&run);
	if (status == 0) {
		status = gg_top_looks_start(&run.looks, source, &run.view, run.delay_seconds,
		                            error);
		if (status < 0)
			gg_top_source_free(source);
	}
	if (status == 0 && !open_terminal(screen))
		status = gg_error_set(error, -ENOTSUP, "top", "Use --batch.",
		                      "ncurses does not know this terminal");
	if (status == 0) {
		show(&run);
		endwin();
		print_last(&run);
	}
	gg_top_looks_stop(run.looks);
	gg_top_snapshot_free(run.snapshot);
	gg_top_state_done(&run.state);
	if (run.has_list)
		gg_top_state_done(&run.list_state);
	gg_top_grid_done(&run.grid);
	if (former != (locale_t)0)
		uselocale(former);
	if (types != (locale_t)0)
		freelocale(types);
	if (ending_signal != 0) {
		signal(ending_signal, SIG_DFL);
		raise(ending_signal);
	}
	return status;
}
