/* SPDX-License-Identifier: Apache-2.0 */
/* attach_module - a module that attach_target loads and unloads. */
#include "base/compiler.h"

GG_EXPORT int module_answer(void);

int module_answer(void)
{
	return 42;
}
