/* SPDX-License-Identifier: Apache-2.0 */
/* no_fork - stands for a kernel that has no room for another process. */
#include <errno.h>
#include <sys/types.h>

pid_t fork(void);

__attribute__((visibility("default"))) pid_t fork(void)
{
	errno = EAGAIN;
	return -1;
}
