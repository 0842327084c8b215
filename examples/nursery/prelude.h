/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prelude - what every program has that is written in Scheme.
 */
#pragma once

static const char prelude[] =
	"(define (map f list)\n"
	"  (if (null? list) '() (let ((first (f (car list)))) (cons first (map f (cdr list))))))\n"
	"(define (for-each f list)\n"
	"  (if (null? list) '() (begin (f (car list)) (for-each f (cdr list)))))\n"
	"(define (filter keep? list)\n"
	"  (cond ((null? list) '())\n"
	"        ((keep? (car list)) (cons (car list) (filter keep? (cdr list))))\n"
	"        (else (filter keep? (cdr list)))))\n"
	"(define (fold f result list)\n"
	"  (if (null? list) result (fold f (f (car list) result) (cdr list))))\n";
