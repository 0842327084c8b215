/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotnet_names - names of .NET's types and methods, as a person would write them in C#.
 *
 *   gg_dotnet_type_name(&out, "System.Collections.Generic.List`1[System.Int32[]]")
 *                                     System.Collections.Generic.List<System.Int32[]>
 *   gg_dotnet_method_name(&out, "Shop.Cart+<AddAsync>d__3", "MoveNext")    Shop.Cart.AddAsync
 *   gg_dotnet_method_name(&out, "Shop.Cart+<>c", "<Sum>b__7_0")            Shop.Cart.Sum (lambda)
 *
 * The compiler puts the body of an async method or an iterator into the method MoveNext of a type
 * of its own, and that of a lambda into a method with an invented name.  The names here are those
 * of the methods in the source.
 *
 * Memory   a failed append sets `failed` of the buffer.
 * Threads  any; nothing is kept.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "dotnet/byte_cursor.h"

/* Appends a UTF-16 text as UTF-8.  Half a character becomes U+FFFD. */
void gg_dotnet_utf8(struct gg_buf *out, struct gg_byte_cursor text);

void gg_dotnet_type_name(struct gg_buf *out, const char *type);
void gg_dotnet_method_name(struct gg_buf *out, const char *type, const char *method);

/* Appends the parameters of a signature: "(string, System.Span<char>)". */
void gg_dotnet_parameters(struct gg_buf *out, const char *signature);

/*
 * True if the method only starts the body of an async method: its caller and its callee are the
 * same method of the source.
 */
bool gg_dotnet_starts_async(const char *type, const char *method);
