/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_glibc - lets a library that is built with a newer glibc load with glibc 2.28 and later.
 *
 *   cc -include abi/old_glibc.h -DGG_OLD_GLIBC ... -l:libdl.so.2 -l:libpthread.so.0
 *
 * The linker binds a name to its newest version, which an older glibc does not have.  These names
 * are bound to their first one, which every later glibc keeps.  Before 2.34 some of them are in
 * libdl and libpthread, so the library names these two; later they are empty.  The functions of
 * stat() were inline before 2.33 and have no old version, so they are system calls.
 */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define GG_OLD_VERSION    "GLIBC_2.2.5"
#define GG_OLD_VERSION_DL "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define GG_OLD_VERSION    "GLIBC_2.17"
#define GG_OLD_VERSION_DL "GLIBC_2.17"
#else
#error "which versions has this processor?"
#endif

#define GG_OLD_NAME(name, version) __asm__(".symver " #name ", " #name "@" version)

GG_OLD_NAME(dladdr, GG_OLD_VERSION);
GG_OLD_NAME(dladdr1, GG_OLD_VERSION_DL);
GG_OLD_NAME(dlclose, GG_OLD_VERSION);
GG_OLD_NAME(dlerror, GG_OLD_VERSION);
GG_OLD_NAME(dlopen, GG_OLD_VERSION);
GG_OLD_NAME(dlsym, GG_OLD_VERSION);
GG_OLD_NAME(pthread_key_create, GG_OLD_VERSION);
GG_OLD_NAME(pthread_mutex_trylock, GG_OLD_VERSION);
GG_OLD_NAME(pthread_setspecific, GG_OLD_VERSION);
GG_OLD_NAME(pthread_sigmask, GG_OLD_VERSION);

static inline int gg_old_fstat(int fd, struct stat *ret_status)
{
	return (int)syscall(SYS_fstat, fd, ret_status);
}

static inline int gg_old_fstatat(int folder, const char *path, struct stat *ret_status, int flags)
{
	return (int)syscall(SYS_newfstatat, folder, path, ret_status, flags);
}

#define fstat(fd, status)   gg_old_fstat((fd), (status))
#define stat(path, status)  gg_old_fstatat(AT_FDCWD, (path), (status), 0)
#define lstat(path, status) gg_old_fstatat(AT_FDCWD, (path), (status), AT_SYMLINK_NOFOLLOW)
