/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_text - prints rules and rows as text for people.
 *
 *   gg_cfi_text_rule(&text, GG_CFI_X86_64, rule);
 *
 *   SP   CFA = rsp + 48; return address at CFA - 8; rbp at CFA - 16
 *
 * Only the host side uses it.  Each function appends to the buffer, without a newline.
 */
#pragma once

#include "base/buf.h"
#include "unwind/cfi/cfi.h"

/* Returns a static text: "sp", "fp", "fp-deref", "general", and so on. */
const char *gg_rule_kind_text(enum gg_rule_kind kind);

/* Appends the contents of a rule.  For NONE it appends the reason, for GENERAL only the kind. */
void gg_cfi_text_rule(struct gg_buf *text, enum gg_cfi_arch arch, struct gg_unwind_rule rule);

/*
 * Appends the whole row with its expressions: "CFA = [rsp + 160, deref]; rbp at [rsp + 120]; ..."
 */
void gg_cfi_text_row(struct gg_buf *text, const struct gg_cfi_module *module,
                     const struct gg_cfi_row *row);
