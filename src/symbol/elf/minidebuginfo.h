/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minidebuginfo - .gnu_debugdata ("minidebuginfo"): a small ELF file, compressed by xz, in a section of a
 * stripped file.  It has the symbols of functions that the dynamic symbol table lacks.
 */
#pragma once

#include "symbol/elf/image.h"

/* A larger one, decompressed, is left alone. */
enum { GG_MINIDEBUGINFO_MAX = 256 << 20 };

/* Opens what the section of `elf` holds, into `file`, which must be closed; else leaves it. */
void gg_minidebuginfo_open(Elf *elf, struct gg_image_file *file);
