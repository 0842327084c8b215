; SPDX-License-Identifier: Apache-2.0
;
; The ways to put N queens on a board of N times N squares so that none threatens another: the boards
; that are tried are lists, which die young.
;
;   nursery nqueens.scm [N]     8 without it

(define (numbers from to)
  (if (> from to) '() (cons from (numbers (+ from 1) to))))

(define (safe? row distance placed)
  (or (null? placed)
      (and (not (= (car placed) (+ row distance)))
           (not (= (car placed) (- row distance)))
           (safe? row (+ distance 1) (cdr placed)))))

; Solutions that begin with `placed`; `rows` are free, of which those in `later` were tried here.
(define (solutions rows later placed)
  (if (null? rows)
      (if (null? later) (list placed) '())
      (append
       (if (safe? (car rows) 1 placed)
           (solutions (append (cdr rows) later) '() (cons (car rows) placed))
           '())
       (solutions (cdr rows) (cons (car rows) later) placed))))

(define (main size)
  (let ((found (solutions (numbers 1 size) '() '())))
    (display (length found))
    (display " ways to place ")
    (display size)
    (display " queens, the first: ")
    (display (car found))
    (newline)))

(main (argument 0 8))
