/* SPDX-License-Identifier: Apache-2.0 */
/* place - makes and removes the directory of a test, and finds the regions in it. */
#include "agent/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char made[] = "/dev/shm/geiger-test-XXXXXX";
static pid_t maker;

/* Removes the directory at the exit of the program, and not at that of its forked children. */
static void remove_made(void)
{
	if (getpid() == maker)
		place_remove(made);
}

const char *place_make(void)
{
	if (mkdtemp(made) == NULL) {
		perror(made);
		exit(1);
	}
	maker = getpid();
	atexit(remove_made);
	return made;
}

void place_empty(const char *directory)
{
	DIR *d = opendir(directory);
	struct dirent *entry;

	/* This also removes hidden files; directories stay. */
	while (d != NULL && (entry = readdir(d)) != NULL)
		unlinkat(dirfd(d), entry->d_name, 0);
	if (d != NULL)
		closedir(d);
}

void place_remove(const char *directory)
{
	place_empty(directory);
	rmdir(directory);
}

bool place_find_region(const char *directory, char path[PLACE_PATH_MAX])
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	bool found = false;

	while (d != NULL && !found && (entry = readdir(d)) != NULL) {
		found = strncmp(entry->d_name, "geiger-", 7) == 0;
		snprintf(path, PLACE_PATH_MAX, "%s/%s", directory, entry->d_name);
	}
	if (d != NULL)
		closedir(d);
	return found;
}

bool place_open_region(const char *directory, struct gg_region_view *ret_view)
{
	static struct gg_error error;
	char path[PLACE_PATH_MAX];

	return place_find_region(directory, path) &&
	       gg_region_view_open(ret_view, path, &error) == 0;
}

bool place_read_region(const char *path, struct gg_region_view *ret_view)
{
	static struct gg_error error;

	if (gg_region_view_open(ret_view, path, &error) < 0) {
		printf("%s: %s\n", path, error.message);
		return false;
	}
	if (!ret_view->torn && ret_view->damaged_count == 0 &&
	    gg_region_view_check(ret_view, NULL) == 0)
		return true;
	printf("%s is not consistent\n", path);
	gg_region_view_done(ret_view);
	return false;
}

bool place_is_emulated(void)
{
	return getenv("TEST_EMULATOR") != NULL;
}

void place_command(struct place_command *command, const char *const argv[], const char *preload)
{
	const char *emulator = getenv("TEST_EMULATOR");
	char *rest = NULL;
	int count = 0;

	if (emulator != NULL) {
		snprintf(command->words, sizeof(command->words), "%s", emulator);
		for (char *word = strtok_r(command->words, " ", &rest); word != NULL;
		     word = strtok_r(NULL, " ", &rest))
			command->argv[count++] = word;
	}
	while (*argv != NULL && count < PLACE_WORDS_MAX - 1)
		command->argv[count++] = *argv++;
	command->argv[count] = NULL;
	if (emulator == NULL)
		snprintf(command->preload, sizeof(command->preload), "LD_PRELOAD=%s", preload);
	else if (*preload != '\0')
		/* qemu's own: what its program finds in the environment beside its own. */
		snprintf(command->preload, sizeof(command->preload), "QEMU_SET_ENV=LD_PRELOAD=%s",
		         preload);
	else
		snprintf(command->preload, sizeof(command->preload), "QEMU_SET_ENV");
}
