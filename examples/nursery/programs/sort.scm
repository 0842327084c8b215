; SPDX-License-Identifier: Apache-2.0
;
; Sorts nested lists of numbers, symbols and strings into one order, by merging.
;
;   nursery sort.scm [COUNT]     2000 without it

; Numbers that look random (D. H. Lehmer's generator with the multiplier 16807).
(define state 1)
(define (random below)
  (set! state (modulo (* state 16807) 2147483647))
  (modulo state below))

(define names '(alpha beta gamma delta epsilon zeta eta theta))

(define (nth items index)
  (if (= index 0) (car items) (nth (cdr items) (- index 1))))

(define (random-item depth)
  (case (random (if (> depth 0) 4 3))
    ((0) (random 1000))
    ((1) (nth names (random 8)))
    ((2) (string-append "text " (number->string (random 100))))
    (else (random-items (random 4) (- depth 1)))))

(define (random-items count depth)
  (if (= count 0)
      '()
      (cons (random-item depth) (random-items (- count 1) depth))))

; ---- Order: numbers, symbols, strings, lists. ----

(define (rank item)
  (cond ((number? item) 0)
        ((symbol? item) 1)
        ((string? item) 2)
        (else 3)))

(define (before? a b)
  (let ((x (rank a)) (y (rank b)))
    (cond ((not (= x y)) (< x y))
          ((= x 0) (< a b))
          ((= x 1) (string<? (symbol->string a) (symbol->string b)))
          ((= x 2) (string<? a b))
          (else (list-before? a b)))))

(define (list-before? a b)
  (cond ((null? b) #f)
        ((null? a) #t)
        ((before? (car a) (car b)) #t)
        ((before? (car b) (car a)) #f)
        (else (list-before? (cdr a) (cdr b)))))

; Tail calls and a reversed result: lists may be long.
(define (merge a b result)
  (cond ((null? a) (append (reverse result) b))
        ((null? b) (append (reverse result) a))
        ((before? (car b) (car a)) (merge a (cdr b) (cons (car b) result)))
        (else (merge (cdr a) b (cons (car a) result)))))

(define (halves items left right)
  (if (null? items)
      (cons left right)
      (halves (cdr items) right (cons (car items) left))))

(define (sort items)
  (if (or (null? items) (null? (cdr items)))
      items
      (let ((split (halves items '() '())))
        (merge (sort (car split)) (sort (cdr split)) '()))))

(define (sorted? items)
  (or (null? items)
      (null? (cdr items))
      (and (not (before? (cadr items) (car items)))
           (sorted? (cdr items)))))

(define (first-of items count)
  (if (= count 0) '() (cons (car items) (first-of (cdr items) (- count 1)))))

(define (main count)
  (let ((sorted (sort (random-items count 3))))
    (display (length sorted))
    (display (if (sorted? sorted) " items, sorted: " " items, not sorted: "))
    (write (first-of sorted 5))
    (display " to ")
    (write (car (reverse sorted)))
    (newline)))

(main (argument 0 2000))
