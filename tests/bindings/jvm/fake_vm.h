/* SPDX-License-Identifier: Apache-2.0 */
/* fake_vm - the counter that tests read from the fake VM. */
#pragma once

#include <stdint.h>

extern uint32_t fake_vm_attach_count; /* threads that attached themselves; atomic */
