/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minidebuginfo - opens .gnu_debugdata, a small xz-compressed ELF file inside a stripped file.
 *
 * It has the symbols of functions that the dynamic symbol table lacks.
 */
#pragma once

#include "symbol/elf/module_files.h"

/* Sections that decompress to more bytes are ignored. */
enum { GG_MINIDEBUGINFO_MAX = 256 << 20 };

/* Opens the section of `elf` as `file`, which must be closed; without a section it stays closed. */
void gg_minidebuginfo_open(Elf *elf, struct gg_module_file *file);
