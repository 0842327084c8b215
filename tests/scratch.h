/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch - a folder for the files of one test program.
 *
 *   const char *path = scratch_path("made.geiger");
 *
 *   scratch_write("known.supp", "leak:cache\n");
 *
 * The first call makes the folder in /tmp, and the exit of the process that made it removes the
 * folder with all that is in it.  A forked child shares the folder and leaves it alone.  A
 * failure ends the program: no test can do without its files.
 */
#pragma once

const char *scratch_folder(void);

/* Removes the folder now, in a program that ends without destructors. */
void scratch_remove(void);

/* FOLDER/NAME; the text lives as long as the program. */
const char *scratch_path(const char *name);

/* A new folder in the folder; its path lives as long as the program. */
const char *scratch_new_folder(void);

/* Writes the file, anew if it exists, and returns its path. */
const char *scratch_write(const char *name, const char *text);

/* The file's text, to be freed by the caller; NULL if it cannot be read. */
char *scratch_read(const char *path);
