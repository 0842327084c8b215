/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_state - what a person chose to see of the snapshots: order, filter, cursor, size.
 *
 *   struct gg_top_state state;
 *
 *   gg_top_state_init(&state, 80, 24);
 *   count = gg_top_state_order(&state, snapshot, order);     order[0..count): rows of the snapshot
 *
 * The cursor follows a row by its label, so the row stays under the cursor when the order changes.
 *
 * Threads  One owner at a time.  The functions are pure: they know no terminal and no clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "top/top_snapshot.h"

enum gg_top_column {
	GG_TOP_BY_SELF,
	GG_TOP_BY_CHANGE, /* significant growth first, significant decreases last */
	GG_TOP_BY_RATE,
	GG_TOP_BY_BLOCKS,
	GG_TOP_BY_AGE,
	GG_TOP_BY_NAME,
	GG_TOP_COLUMN_COUNT
};

/* A terminal of less says so instead of a frame. */
enum { GG_TOP_LEAST_WIDTH = 40, GG_TOP_LEAST_HEIGHT = 8 };

/* GG_TOP_PAGE_LESS: the lines of a screen that PgDn does not move by. */
enum { GG_TOP_TEXT_MAX = 128, GG_TOP_PAGE_LESS = 6 };

enum gg_top_mode {
	GG_TOP_MODE_TABLE,
	GG_TOP_MODE_HELP,
	GG_TOP_MODE_SEARCH,   /* the searched part of a name is typed */
	GG_TOP_MODE_FILTER,   /* the filter is typed */
	GG_TOP_MODE_DETAIL,   /* one row is open (top_detail.h) */
	GG_TOP_MODE_TYPE,     /* the answer of a prompt is typed (top_prompt.h) */
	GG_TOP_MODE_QUESTION, /* a question waits for yes or no */
	GG_TOP_MODE_NOTES,    /* all notes of the recording (top_text.h) */
	GG_TOP_MODE_WHY,      /* the rows of RSS (top_text.h) */
	GG_TOP_MODE_OUTPUT,   /* what the recorded command prints (top_text.h) */
};

/* A wish that the user has confirmed. */
enum gg_top_wish {
	GG_TOP_NOTHING,
	GG_TOP_WRITE,   /* write a profile to the file `typed` */
	GG_TOP_REPLACE, /* the same, over an existing file */
	GG_TOP_SWITCH,  /* switch sampling as switches_on says */
	GG_TOP_SET_INTERVAL,
	GG_TOP_SET_DELAY,
	GG_TOP_ATTACH, /* bring the agent into process attach_pid */
};

enum { GG_TOP_MESSAGE_MAX = 512 }; /* as long as messages of errors */

struct gg_top_state {
	size_t width, height; /* characters */
	bool ascii;
	enum gg_top_column sort;
	bool is_reversed;
	char filter[GG_TOP_TEXT_MAX]; /* rows whose label has this part; "": all */
	char search[GG_TOP_TEXT_MAX];
	/* A frame of batch mode has no chart, no cursor, and no line of keys. */
	bool is_batch;
	enum gg_top_mode mode;
	enum gg_top_mode
		mode_below;     /* where the end of the help, of notes, and of a prompt leads */
	bool is_readonly;       /* the process must not be changed */
	enum gg_top_wish asked; /* of the prompt */
	enum gg_top_wish wish;  /* to be fulfilled */
	char typed[GG_TOP_TEXT_MAX]; /* the answer of the prompt */
	bool switches_on;
	uint32_t attach_pid;
	const char *output; /* the end of what the recorded command printed; NULL: no command */
	uint64_t interval_bytes;          /* of GG_TOP_SET_INTERVAL */
	double delay_seconds;             /* between looks; of GG_TOP_SET_DELAY */
	char message[GG_TOP_MESSAGE_MAX]; /* in the last line until the next key; "": none */
	size_t first_text_line;           /* of help, notes or rows of RSS: lines scrolled away */
	char *opened;                     /* mode detail: the label of that row; or NULL */
	size_t piece;                     /* the place of its cursor */
	enum gg_grouping by;              /* of the next looks */
	enum gg_top_metric metric;
	bool is_paused;
	bool wants_quit, wants_mark; /* a key asked for it */
	bool wants_open, wants_back; /* the process under the cursor; where it was opened */
	bool wants_list;             /* the list of processes, even if nothing was opened there */
	bool lists_all;              /* the list has processes that have ended, or have no agent */
	size_t cursor;               /* place of the row in the order, from 0 */
	char *followed;              /* the label of that row; NULL: the place stays, not the row */
	uint64_t followed_path;      /* of that row, if it is of a tree; else 0 */
	bool is_tree;                /* of the next looks: rows are a tree */
	bool opens_heaviest;         /* the next tree opens the heaviest path */
	GG_ARRAY(uint64_t) open_paths; /* of a tree */
};

void gg_top_state_init(struct gg_top_state *state, size_t width, size_t height);
void gg_top_state_done(struct gg_top_state *state);

/* The cursor follows the row with that label; "": it stays in its place. */
void gg_top_state_follow(struct gg_top_state *state, const char *label);
/* The cursor follows that row, also of a tree, where others can have its label. */
void gg_top_state_follow_row(struct gg_top_state *state, const struct gg_top_row *row);
/* True if the callees of the row are visible, if its callers are open. */
bool gg_top_state_is_row_open(const struct gg_top_state *state, const struct gg_top_row *row);
/* Opens or closes the row of a tree.  Without memory nothing changes. */
void gg_top_state_set_row_open(struct gg_top_state *state, const struct gg_top_row *row,
                               bool is_open);
/* Opens the row with that label. */
void gg_top_state_open(struct gg_top_state *state, const char *label);
/* Goes back to the table. */
void gg_top_state_close(struct gg_top_state *state);
/* Moves the cursor to the row that it follows, or to the last place if there are fewer rows. */
void gg_top_state_update(struct gg_top_state *state, const struct gg_top_snapshot *snapshot);

/*
 * Writes the indices of the rows that the filter lets pass, in the chosen order, to
 * order[0..snapshot->row_count).  Returns how many there are.  Equal rows are in the order of their
 * labels.
 */
size_t gg_top_state_order(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                          size_t *order);
