/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_frames - recognizes the frames of C++'s operator new, which dumps leave out.
 *
 * Every allocation of a C++ program has a frame of `operator new` of libstdc++ or libc++, which
 * says nothing.  Readers of dumps drop it by its name.  But distributions strip these libraries,
 * and nm prints a version with the name (`operator new@@GLIBCXX_3.4`).  So the dump drops these
 * frames by address.
 *
 * It knows the operators of the libraries that are loaded when the agent begins.  Operators of
 * libraries that are loaded later, or that are linked into the program and not exported, stay in
 * dumps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In the constructor, while the loader's list does not change. */
void gg_operator_frames_find(void);

/* True if the return address is in one of the operators.  Any thread. */
bool gg_operator_frames_has(uint64_t pc);
