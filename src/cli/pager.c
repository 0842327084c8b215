/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/profiles.h"

/* Does the text need more lines than the screen has? */
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

/* The pager's command; NULL: none is wanted. */
static const char *find_pager(void)
{
	const char *pager = getenv("GEIGER_PAGER");

	if (pager == NULL)
		pager = getenv("PAGER");
	if (pager == NULL)
		pager = "less";
	return pager[0] == '\0' || strcmp(pager, "cat") == 0 ? NULL : pager;
}

/* False if there is no such program: then the text goes out as it is. */
static bool print_through(const char *pager, const struct gg_buf *text)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	FILE *stream;
	int status;

	setenv("LESS", "FRX", 0); /* only what the user has not set */
	fflush(stdout);
	stream = popen(pager, "we");
	if (stream == NULL)
		return false;
	sigaction(SIGPIPE, &ignore, &before); /* the reader may leave before the end */
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
