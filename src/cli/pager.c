/* SPDX-License-Identifier: Apache-2.0 */
/* pager - starts the user's pager, and writes the text to it. */
#include "cli/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* True if the text needs more lines than the screen has. */
static bool is_long(const struct gg_buf *text)
{
	struct winsize size;
	size_t lines = 0;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return false;
	for (size_t i = 0; i < text->length; i++)
		lines += text->data[i] == '\n';
	return lines >= size.ws_row;
}

/* Returns the pager's command, or NULL if the user wants no pager: "" and "cat" mean that. */
static const char *find_pager(void)
{
	const char *pager = getenv("GEIGER_PAGER");

	if (pager == NULL)
		pager = getenv("PAGER");
	if (pager == NULL)
		pager = "less";
	return pager[0] == '\0' || strcmp(pager, "cat") == 0 ? NULL : pager;
}

/*
 * Prints the text through the pager.  False if the shell does not find the program (status 127);
 * then the caller prints the text without it.
 */
static bool print_through(const char *pager, const struct gg_buf *text)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	FILE *stream;
	int status;

	setenv("LESS", "FRX", 0); /* keeps a LESS that the user has set */
	fflush(stdout);
	stream = popen(pager, "we");
	if (stream == NULL)
		return false;
	sigaction(SIGPIPE, &ignore, &before); /* the reader may quit before the end */
	fwrite(gg_buf_text(text), 1, text->length, stream);
	status = pclose(stream);
	sigaction(SIGPIPE, &before, NULL);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

int gg_cli_print(const struct gg_buf *text, bool no_pager, struct gg_error *error)
{
	const char *pager = no_pager ? NULL : find_pager();

	if (text->failed)
		return gg_error_memory(error, "report");
	if (pager != NULL && is_long(text) && print_through(pager, text))
		return 0;
	fwrite(gg_buf_text(text), 1, text->length, stdout);
	return 0;
}
