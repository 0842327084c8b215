/* SPDX-License-Identifier: Apache-2.0 */
/* top_terminal - puts grids on a terminal by ncurses, reads keys, and restores the terminal. */
#define NCURSES_WIDECHAR 1
#include "top/top_terminal.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/printable.h"
#include "top/top_key.h"

/* Milliseconds after which a lone Esc is a key of its own. */
enum { ESCAPE_MS = 25 };

/* The terminal as it was, and the texts that restore it, for handlers of signals. */
static struct {
	struct termios settings;
	bool has_settings;
	char restore[256]; /* sequences that leave the screen and show the cursor */
	size_t restore_length;
} before;

static bool has_colors_here; /* the user and the terminal have them */

volatile sig_atomic_t gg_top_terminal_signal;

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

/* Ends reports of the mouse, for which terminfo has no name: ncurses asks with these modes. */
static void add_mouse_end(bool has_mouse)
{
	static const char off[] = "\x1b[?1006l\x1b[?1000l";
	const char *request = tigetstr("kmous");

	if (!has_mouse || request == NULL || request == (char *)-1 ||
	    before.restore_length + strlen(off) > sizeof(before.restore))
		return;
	memcpy(before.restore + before.restore_length, off, strlen(off));
	before.restore_length += strlen(off);
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
	gg_top_terminal_signal = signal_number;
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

bool gg_top_terminal_open(bool has_color, bool has_mouse)
{
	before.has_settings = tcgetattr(STDIN_FILENO, &before.settings) == 0;
	if (newterm(NULL, stdout, stdin) == NULL)
		return false;
	before.restore_length = 0;
	add_sequence("sgr0");
	add_sequence("rmkx");
	add_sequence("cnorm");
	add_mouse_end(has_mouse);
	add_sequence("rmcup");
	handle_signals();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	if (has_mouse) {
		mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED,
		          NULL);
		mouseinterval(0); /* a press needs no release to be a click */
	}
	has_colors_here = has_color && has_colors() && start_color() == OK;
	if (has_colors_here) {
		use_default_colors();
		init_pair(GG_TOP_GREW, COLOR_RED, -1);
		init_pair(GG_TOP_SHRANK, COLOR_GREEN, -1);
		init_pair(GG_TOP_WARNING, COLOR_YELLOW, -1);
		init_pair(GG_TOP_BAR, COLOR_CYAN, -1);
	}
	return true;
}

void gg_top_terminal_close(void)
{
	endwin();
}

/* --- drawing -------------------------------------------------------------------------------- */

static attr_t attributes_of(uint8_t style)
{
	switch (style) {
	case GG_TOP_HEADING:
		return A_UNDERLINE;
	case GG_TOP_SORTED:
		return A_UNDERLINE | A_REVERSE;
	case GG_TOP_STRONG:
		return A_BOLD;
	case GG_TOP_CURSOR:
		return A_REVERSE;
	case GG_TOP_GREW:
	case GG_TOP_SHRANK:
	case GG_TOP_WARNING:
		return A_BOLD | (has_colors_here ? COLOR_PAIR(style) : 0);
	case GG_TOP_BAR:
		return has_colors_here ? COLOR_PAIR(style) : A_NORMAL;
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

void gg_top_terminal_put(const struct gg_top_grid *grid)
{
	erase();
	for (size_t row = 0; row < grid->height; row++)
		for (size_t column = 0; column < grid->width; column++) {
			const struct gg_top_cell *cell = gg_top_grid_cell(grid, row, column);

			if (cell->text[0] == '\0' ||
			    (cell->style == GG_TOP_PLAIN && strcmp(cell->text, " ") == 0))
				continue;
			attrset(attributes_of(cell->style));
			put_cell((int)row, (int)column, cell->text);
		}
	attrset(A_NORMAL);
	refresh(); /* it sends only the cells that changed */
}

void gg_top_terminal_size(size_t *ret_width, size_t *ret_height)
{
	int height, width;

	getmaxyx(stdscr, height, width);
	*ret_width = width > 0 ? (size_t)width : 1;
	*ret_height = height > 0 ? (size_t)height : 1;
}

void gg_top_terminal_redraw(void)
{
	clearok(stdscr, TRUE);
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
	return key > 0 && key < KEY_MIN ? key : GG_TOP_KEY_NONE;
}

/* The event that ncurses has read; GG_TOP_KEY_NONE: it has no meaning here. */
static int take_mouse(struct gg_top_mouse *ret_mouse)
{
	MEVENT event;

	if (getmouse(&event) != OK || event.x < 0 || event.y < 0)
		return GG_TOP_KEY_NONE;
	*ret_mouse = (struct gg_top_mouse){ .row = (size_t)event.y, .column = (size_t)event.x };
	if ((event.bstate & BUTTON4_PRESSED) != 0)
		ret_mouse->kind = GG_TOP_MOUSE_WHEEL_UP;
	else if ((event.bstate & BUTTON5_PRESSED) != 0)
		ret_mouse->kind = GG_TOP_MOUSE_WHEEL_DOWN;
	else if ((event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) == 0)
		return GG_TOP_KEY_NONE;
	return GG_TOP_KEY_MOUSE;
}

int gg_top_terminal_key(struct gg_top_mouse *ret_mouse)
{
	int key = getch();

	if (key == ERR)
		return 0;
	return key == KEY_MOUSE ? take_mouse(ret_mouse) : key_of(key);
}
