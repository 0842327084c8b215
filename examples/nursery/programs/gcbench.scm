; SPDX-License-Identifier: Apache-2.0
;
; GCBench, after the published description of the benchmark by J. Ellis, P. Kovac and H. Boehm: binary
; trees of many depths are made from the leaves up and from the root down, while a large tree
; and an array of numbers stay alive.
;
;   nursery gcbench.scm [DEPTH]     of the tree that stretches the heap first, 18 without it

; Nodes of a tree of that depth.
(define (tree-size depth)
  (if (= depth 0) 1 (+ 1 (* 2 (tree-size (- depth 1))))))

(define stretch-depth (argument 0 18))
(define long-lived-depth (- stretch-depth 2))
(define array-size (quotient (* 500000 (tree-size stretch-depth)) (tree-size 18)))
(define min-depth 4)
(define max-depth long-lived-depth)

; A node: left, right, and two numbers that nobody reads.
(define (make-node left right)
  (vector left right 0 0))

; The larger the trees, the fewer: the same number of nodes each time.
(define (iterations depth)
  (quotient (* 2 (tree-size stretch-depth)) (tree-size depth)))

; From the root down: old nodes come to point to new ones.
(define (populate! depth node)
  (when (> depth 0)
    (vector-set! node 0 (make-node '() '()))
    (vector-set! node 1 (make-node '() '()))
    (populate! (- depth 1) (vector-ref node 0))
    (populate! (- depth 1) (vector-ref node 1))))

; From the leaves up.
(define (make-tree depth)
  (if (<= depth 0)
      (make-node '() '())
      (make-node (make-tree (- depth 1))
                 (make-tree (- depth 1)))))

(define (count-nodes tree)
  (if (null? tree)
      0
      (+ 1 (count-nodes (vector-ref tree 0))
         (count-nodes (vector-ref tree 1)))))

(define (top-down count depth)
  (when (> count 0)
    (populate! depth (make-node '() '()))
    (top-down (- count 1) depth)))

(define (bottom-up count depth)
  (when (> count 0)
    (make-tree depth)
    (bottom-up (- count 1) depth)))

(define (construct depth)
  (let ((count (iterations depth)))
    (display "trees of depth ")
    (display depth)
    (display ": ")
    (display count)
    (newline)
    (top-down count depth)
    (bottom-up count depth)))

(define (fill! array from to)
  (when (< from to)
    (vector-set! array from (/ 1.0 (exact->inexact from)))
    (fill! array (+ from 1) to)))

(define (construct-all depth)
  (when (<= depth max-depth)
    (construct depth)
    (construct-all (+ depth 2))))

(define (main)
  (display "stretching the heap with a tree of depth ")
  (display stretch-depth)
  (newline)
  (make-tree stretch-depth)
  (let ((long-lived (make-node '() '()))
        (array (make-vector array-size 0.0)))
    (populate! long-lived-depth long-lived)
    (fill! array 1 (quotient array-size 2))
    (construct-all min-depth)
    (display "nodes that lived all the time: ")
    (display (count-nodes long-lived))
    (newline)
    (display "an element of the array: ")
    (display (vector-ref array (quotient array-size 4)))
    (newline)))

(main)
