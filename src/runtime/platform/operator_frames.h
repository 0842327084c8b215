/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_frames - which frames are C++'s operator new, for dumps.
 *
 * Above every allocation of a C++ program stands `operator new` of libstdc++ or libc++, which tells nothing.
 * Readers of dumps leave it out by its name, but distributions strip these libraries, and what nm prints
 * carries a version (`operator new@@GLIBCXX_3.4`).  So the dump leaves such frames out by their addresses.
 *
 * The operators of the libraries that are there when the agent begins; those of one that is loaded later, or
 * linked into the program statically and not exported, stay in dumps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In the constructor: the loader's list may not change meanwhile. */
void gg_operator_frames_find(void);

/* Is this return address in one of the operators?  Any thread. */
bool gg_operator_frames_has(uint64_t pc);
