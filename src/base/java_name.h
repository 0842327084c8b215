/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java_name - the names of classes as Java writes them, from the signatures of the VM.
 *
 *   signature of the VM                                   name
 *   Ljava/util/HashMap$Node;                              java.util.HashMap$Node
 *   [[I                                                   int[][]
 *   LMain$$Lambda.0x00007f1c04000a00;                     Main$$Lambda
 *   LMain$$Lambda$14.0x0000000800c03000;                  Main$$Lambda
 *   LMain$$Lambda$14+0x0000000800c03000.172032696;        Main$$Lambda
 *
 * Hidden classes, which the VM makes for lambdas and method handles, have an address or a number in
 * their names that differs from run to run.  It is left out, so that two runs can be compared.
 *
 * Threads  any; pure.
 */
#pragma once

#include <stddef.h>

/*
 * Writes the name of the class with this signature, truncated to name_bytes (> 0).  Returns the
 * length of the text.  A text that is no signature stays as it is.
 */
size_t gg_java_class_name(const char *signature, char *name, size_t name_bytes);
