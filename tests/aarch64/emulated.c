/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulated - stands where a program for aarch64 should be executed, and gives it to the emulator.
 *
 * Built for this machine with ROOT, the folder below which the program itself has the same path,
 * and PROC, the library of kernels_proc.c.
 * The libraries to preload are for the program: the emulator has another loader.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 256 };

int main(int argc, char *argv[])
{
	static char preload[8192], program[4096];
	char *words[WORDS] = { "qemu-aarch64", "-cpu", "max,pauth-impdef=on", "-L", ROOT, "-0" };
	int count = 6;

	words[count++] = argv[0];
	if (getenv("LD_PRELOAD") != NULL) {
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s:%s", getenv("LD_PRELOAD"), PROC);
		unsetenv("LD_PRELOAD");
		words[count++] = "-E";
		words[count++] = preload;
	}
	snprintf(program, sizeof(program), "%s%s", ROOT, argv[0]);
	words[count++] = program;
	for (int i = 1; i < argc && count < WORDS - 1; i++)
		words[count++] = argv[i];
	execvp(words[0], words);
	return 127;
}
