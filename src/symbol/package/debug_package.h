/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_package - finds the packages of the system that would name the functions of files.
 *
 *   struct gg_debug_package files[] = { { .path = "/lib/x86_64-linux-gnu/libsqlite3.so.0" } };
 *
 *   system = gg_debug_packages_find(NULL, files, 1);
 *   files[0].name                    "libsqlite3-0-dbgsym"; NULL: no package has the file
 *   gg_debug_packages_done(files, 1);
 *
 * Debian   The lists of files in /var/lib/dpkg/info are read once for all files.  A file may be
 *          listed below / or /usr, because / has links to folders of /usr.
 * Fedora   `rpm -qf` names the package; debuginfo-install takes that name.
 * Links    The package of the file that a link leads to counts: /usr/bin/python3 is a link of
 *          another package than the program.
 * Cost     some 20 ms for 1000 packages of dpkg, and one process a file for rpm.  So the functions
 *          are for advice that is printed, not for every look-up.
 * Threads  any; the search shares no state.
 */
#pragma once

#include <stddef.h>

enum gg_package_system {
	GG_PACKAGE_SYSTEM_NONE, /* none that is known here */
	GG_PACKAGE_SYSTEM_DPKG, /* names are of packages with debug symbols */
	GG_PACKAGE_SYSTEM_RPM,  /* names are of packages with the file itself */
};

struct gg_debug_package {
	const char *path;
	char *name;
};

/*
 * Sets the name of each file, which is NULL if no package has the file.  `root` is the root folder
 * of the system; NULL is "/".
 */
enum gg_package_system gg_debug_packages_find(const char *root, struct gg_debug_package *files,
                                              size_t count);
void gg_debug_packages_done(struct gg_debug_package *files, size_t count);

/*
 * Returns where packages called -dbgsym are, such as "Debian's debug archive", by the system's
 * /etc/os-release; "" if unknown.
 */
const char *gg_debug_package_archive(const char *root);
