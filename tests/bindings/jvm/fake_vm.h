/* SPDX-License-Identifier: Apache-2.0 */
/* fake_vm - what a test sees of the VM that is none. */
#pragma once

#include <stdint.h>

extern uint32_t fake_vm_attach_count; /* threads that attached themselves; atomic */
