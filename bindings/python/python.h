/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python - CPython's headers, with what they tell of its inside.
 *
 * The layout of frames is told by headers that only the core should include (Py_BUILD_CORE_MODULE:
 * as the extensions that come with Python do).
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
