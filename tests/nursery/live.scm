; SPDX-License-Identifier: Apache-2.0
;
; All types, some of each alive at each check: young, promoted, moved again, dead in the old space.

(define (numbers n) (if (= n 0) '() (cons (* 1.5 n) (numbers (- n 1)))))
(define (texts n)
  (if (= n 0) '() (cons (string-append "text " (number->string n)) (texts (- n 1)))))
(define (adders n) (if (= n 0) '() (cons (lambda (x) (+ x n)) (adders (- n 1)))))

(define kept (make-vector 100 '()))
(define large '())

(define (step i)
  (vector-set! kept (modulo (* i 7) 100)
               (list (numbers 20) (texts (modulo i 9)) (adders 5) (make-vector (modulo i 13) i)))
  (when (= 0 (modulo i 50))
    (set! large (list (make-vector (+ 9000 i) i)))))

(do ((i 0 (+ i 1))) ((= i 400))
  (step i)
  (when (= 0 (modulo i 57)) (check (= 0 (modulo i 2)))))

(set! kept #f)
(check #f)
(check #t)
