/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

static char folder[] = "/tmp/geiger-test-XXXXXX";
static pid_t owner; /* the process that made the folder; 0: none did */

/* Paths are kept for the process's life, so that a leak checker finds them. */
static struct kept {
	struct kept *next;
	char text[];
} * first_kept;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
	(void)status, (void)ftw;
	if (kind == FTW_DP)
		return rmdir(path);
	return unlink(path);
}

/* A folder without permissions keeps what it holds from being removed. */
static int open_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
	(void)ftw;
	if ((kind == FTW_D || kind == FTW_DNR) && (status->st_mode & 0700) != 0700)
		chmod(path, 0700);
	return 0;
}

__attribute__((destructor)) void scratch_remove(void)
{
	if (owner != getpid())
		return;
	nftw(folder, open_one, 16, FTW_PHYS);
	nftw(folder, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

static void must(bool is_done, const char *what)
{
	if (is_done)
		return;
	perror(what);
	exit(1);
}

const char *scratch_folder(void)
{
	if (owner == 0) {
		must(mkdtemp(folder) != NULL, folder);
		/* Processes of other users reach files in it that the test gives to them. */
		must(chmod(folder, 0711) == 0, folder);
		owner = getpid();
	}
	return folder;
}

static char *make_path(const char *name)
{
	size_t bytes = strlen(scratch_folder()) + 1 + strlen(name) + 1;
	struct kept *kept = malloc(sizeof(*kept) + bytes);

	must(kept != NULL, name);
	snprintf(kept->text, bytes, "%s/%s", folder, name);
	kept->next = first_kept;
	first_kept = kept;
	return kept->text;
}

const char *scratch_path(const char *name)
{
	return make_path(name);
}

const char *scratch_new_folder(void)
{
	char *path = make_path("XXXXXX");

	must(mkdtemp(path) != NULL, path);
	return path;
}

const char *scratch_write(const char *name, const char *text)
{
	const char *path = scratch_path(name);
	FILE *file = fopen(path, "we");

	must(file != NULL, path);
	must(fputs(text, file) >= 0, path);
	must(fclose(file) == 0, path);
	return path;
}

char *scratch_read(const char *path)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	FILE *file = fopen(path, "re");
	char part[4096];
	size_t length;

	if (file == NULL)
		return NULL;
	while ((length = fread(part, 1, sizeof(part), file)) > 0)
		gg_buf_append(&text, part, length);
	fclose(file);
	return strdup(gg_buf_text(&text));
}
