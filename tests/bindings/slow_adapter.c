/* SPDX-License-Identifier: Apache-2.0 */
/* slow_adapter - Python's adapter, whose load waits until the file $SLOW_ADAPTER_GO exists. */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { TRIES = 60000 };

bool gg_python_installed(void); /* of the adapter, which comes along for it */

__attribute__((constructor)) static void wait_for_file(void)
{
	const char *path = getenv("SLOW_ADAPTER_GO");

	if (path == NULL || gg_python_installed())
		return;
	for (int i = 0; access(path, F_OK) != 0 && i < TRIES; i++)
		usleep(1000);
}
