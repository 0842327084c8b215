/* SPDX-License-Identifier: Apache-2.0 */
/* change_region - checks that the process lives, and writes the request. */
#include "record/regions/change_region.h"

#include <errno.h>
#include <unistd.h>

#include "record/regions/process_alive.h"
#include "region/reader/view.h"

int gg_change_region(const char *path, const struct gg_region_change *change,
                     struct gg_region_header *ret_header, struct gg_error *error)
{
	int fd = gg_region_control_open(path, error), status;

	if (fd < 0)
		return fd;
	/*
	 * Reads the header through the same descriptor that gets the request, so both refer to the
	 * same file.
	 */
	status = gg_region_header_read(ret_header, fd, path, error);
	/* The region of a dead process stays on disk, where nobody would read the new settings. */
	if (status == 0 && !gg_process_alive_region(ret_header, fd))
		status = gg_error_set(error, -ESRCH, path, NULL, "its process is gone");
	if (status == 0)
		status = gg_region_control_write(fd, change, error);
	close(fd);
	return status;
}
