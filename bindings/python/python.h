/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python - includes CPython's headers, also the internal ones.
 *
 * Only internal headers have the layout of frames.  They are for the interpreter itself and for the
 * extensions that come with it, which define Py_BUILD_CORE_MODULE.
 */
#pragma once

#include <stdbool.h>

#define PY_SSIZE_T_CLEAN
#ifndef Py_BUILD_CORE_MODULE
#define Py_BUILD_CORE_MODULE 1
#endif
#include <Python.h>

#include <internal/pycore_frame.h>

_Static_assert(PY_VERSION_HEX >> 16 == 0x030b, "frames are read as CPython 3.11 has them");
