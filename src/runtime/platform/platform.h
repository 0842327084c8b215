/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform - what a library that links the runtime must provide: the port of src/runtime.
 *
 * Two libraries link the runtime.  In libgeiger-agent.so, which hooks libc, src/preload provides
 * these functions.  In libgeiger, which hooks nothing, src/embed/platform.c does.  The runtime
 * calls them, and does not depend on which of the two it is in.
 */
#pragma once

#include "runtime/platform/allocator_functions.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/platform/operator_frames.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/platform/seccomp.h"
