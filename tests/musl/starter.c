/* SPDX-License-Identifier: Apache-2.0 */
/* starter - runs its argument by the shell, which has glibc here, and ends with its status. */
#include <stdlib.h>
#include <sys/wait.h>

int main(int argc, char *argv[])
{
	int status = argc > 1 ? system(argv[1]) : -1;

	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
