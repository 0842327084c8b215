/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_proc - makes what emulated processes read below /proc agree, where the emulator answers
 * for some files of its own process, and the kernel for those of others.
 *
 *   /proc/PID/exe    of another process leads to the emulator; here to its program: the first word
 *                    of the emulator's command line that is a file below ROOT (emulated.c)
 *   /proc/self/stat  has another start of the process than the kernel knows; here the kernel's
 *
 * Preloaded into an emulated geiger and its programs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static ssize_t real_readlink(const char *path, char *to, size_t bytes)
{
	return syscall(SYS_readlinkat, AT_FDCWD, path, to, bytes);
}

ssize_t readlink(const char *path, char *to, size_t bytes)
{
	static const char emulator[] = "/qemu-aarch64";
	ssize_t length = real_readlink(path, to, bytes);
	char file[64], words[4096];
	unsigned pid;
	ssize_t got;
	int fd, end = 0;

	if (length < (ssize_t)sizeof(emulator) || sscanf(path, "/proc/%u/exe%n", &pid, &end) != 1 ||
	    end == 0 ||
	    memcmp(to + length - (sizeof(emulator) - 1), emulator, sizeof(emulator) - 1) != 0)
		return length;
	snprintf(file, sizeof(file), "/proc/%u/cmdline", pid);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, words, sizeof(words) - 1) : -1;
	if (fd >= 0)
		close(fd);
	for (ssize_t at = 0; at < got; at += (ssize_t)strlen(words + at) + 1) {
		words[got] = '\0';
		if (strncmp(words + at, ROOT "/", strlen(ROOT) + 1) == 0) {
			length = (ssize_t)strnlen(words + at, bytes);
			memcpy(to, words + at, (size_t)length);
			break;
		}
	}
	return length;
}

/* The emulator recognizes the plain path alone. */
static long kernels(long path)
{
	return strcmp((const char *)path, "/proc/self/stat") == 0 ? (long)"/proc/./self/stat"
	                                                          : path;
}

/* The agent reads files by this function. */
long syscall(long number, ...)
{
	register long x8 __asm__("x8") = number;
	long arguments[6];
	va_list rest;

	va_start(rest, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(rest, long);
	va_end(rest);
	if (number == SYS_openat)
		arguments[1] = kernels(arguments[1]);

	register long x0 __asm__("x0") = arguments[0];
	register long x1 __asm__("x1") = arguments[1];
	register long x2 __asm__("x2") = arguments[2];
	register long x3 __asm__("x3") = arguments[3];
	register long x4 __asm__("x4") = arguments[4];
	register long x5 __asm__("x5") = arguments[5];

	__asm__ volatile("svc #0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory");
	if (x0 >= -4095 && x0 < 0) {
		errno = (int)-x0;
		return -1;
	}
	return x0;
}
