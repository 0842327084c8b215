/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place - a directory for the regions of one test program, and how to start programs that put them
 * there.
 *
 *   const char *directory = place_make();
 *   struct place_command command;
 *
 *   place_command(&command, argv, getenv("GEIGER_AGENT"));
 *   child_run(&child, command.argv, (const char *const[]){ command.preload, ..., NULL }, 60);
 *   if (CHECK(place_open_region(directory, &view)))
 *
 * A test that is built for another machine runs in an emulator, and so must what it starts:
 * TEST_EMULATOR is the emulator's command, with blanks between its words.
 */
#pragma once

#include <stdbool.h>

#include "region/reader/view.h"

enum { PLACE_PATH_MAX = 600 };

/* Makes a directory, and removes it when the program exits.  Ends the program if that fails. */
const char *place_make(void);

/* Removes the files in a directory (empty), or the files and the directory (remove). */
void place_empty(const char *directory);
void place_remove(const char *directory);

/* Finds the path of a region in the directory; false: it has no region. */
bool place_find_region(const char *directory, char path[PLACE_PATH_MAX]);

/* Reads a region of the directory.  False: no file is there, or it is not a region yet. */
bool place_open_region(const char *directory, struct gg_region_view *ret_view);

/* Reads the region at a path.  False with a message if it is not whole, or does not add up. */
bool place_read_region(const char *path, struct gg_region_view *ret_view);

bool place_is_emulated(void);

enum { PLACE_WORDS_MAX = 80 };

struct place_command {
	const char *argv[PLACE_WORDS_MAX];
	char preload
		[8400];  /* a setting that preloads into the program, and not into its emulator */
	char words[400]; /* the emulator's */
};

/* `preload`: libraries with blanks between them, or "". */
void place_command(struct place_command *command, const char *const argv[], const char *preload);
