/* SPDX-License-Identifier: Apache-2.0 */
/* scratch - a list of unfinished files, which a signal handler removes. */
#include "base/scratch.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

enum { FILES_MAX = 16 };

static char paths[FILES_MAX][PATH_MAX];
/*
 * Set after the path is complete and cleared before it changes, so the handler sees only complete
 * paths.
 */
static volatile sig_atomic_t is_listed[FILES_MAX];

static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU };

/*
 * SA_RESETHAND has restored the default action. raise() makes the signal pending, and it ends the
 * process when this handler returns and the mask is lifted.
 */
static void remove_all(int number)
{
	for (int i = 0; i < FILES_MAX; i++)
		if (is_listed[i])
			unlink(paths[i]);
	raise(number);
}

void gg_scratch_remove_at_signals(void)
{
	struct sigaction action = { .sa_handler = remove_all, .sa_flags = SA_RESETHAND }, before;

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < GG_COUNT(signals); i++)
		/* A signal that the caller ignores (nohup) or handles keeps its action. */
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	/* A write beyond the largest size of a file then fails, and the command says so. */
	if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		signal(SIGXFSZ, SIG_IGN);
}

int gg_scratch_add(const char *path)
{
	size_t length = strlen(path);

	for (int i = 0; i < FILES_MAX && length < PATH_MAX; i++) {
		if (is_listed[i])
			continue;
		memcpy(paths[i], path, length + 1);
		is_listed[i] = 1;
		return i;
	}
	return -1;
}

void gg_scratch_forget(int number)
{
	if (number >= 0)
		is_listed[number] = 0;
}
