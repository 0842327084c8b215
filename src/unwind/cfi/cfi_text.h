/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_text - rules and rows as people read them.
 *
 *   gg_cfi_text_rule(&text, GG_CFI_X86_64, rule);
 *
 *   SP   CFA = rsp + 48; return address at CFA - 8; rbp at CFA - 16
 *
 * Host side.  Each function appends to the buffer, without a newline.
 */
#pragma once

#include "base/buf.h"
#include "unwind/cfi/cfi.h"

/* "sp", "fp", "fp-deref", "general"...; a static text. */
const char *gg_rule_kind_text(enum gg_rule_kind kind);

/* What a compact rule says; of NONE the reason, of GENERAL only that it is. */
void gg_cfi_text_rule(struct gg_buf *text, enum gg_cfi_arch arch, struct gg_unwind_rule rule);

/* All that a row says, expressions included: "CFA = [rsp + 160, deref]; rbp at [rsp + 120]; ..." */
void gg_cfi_text_row(struct gg_buf *text, const struct gg_cfi_module *module,
                     const struct gg_cfi_row *row);
