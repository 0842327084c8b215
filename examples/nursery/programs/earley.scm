; SPDX-License-Identifier: Apache-2.0
;
; J. Earley's parser (Communications of the ACM 13 (1970) 94) for a grammar that is as ambiguous
; as can be, E -> E E | x, and the number of ways to parse, which are Catalan's numbers.
;
;   nursery earley.scm [LENGTH]     of the text, 12 without it

(define grammar '((E (E E) (x))))

(define (rules-of name)
  (let ((entry (assoc name grammar)))
    (if entry (cdr entry) #f)))

; An item: (name rest-of-rule origin); a vector of lists of items, one for each place in the text.
(define (make-item name rest origin)
  (list name rest origin))

(define (item-next item)
  (if (null? (cadr item)) #f (car (cadr item))))

(define (advance item)
  (make-item (car item) (cdr (cadr item)) (caddr item)))

; The items of a place, of which some wait for their turn.
(define (add! sets place item)
  (let ((set (vector-ref sets place)))
    (if (member item set)
        #f
        (begin (vector-set! sets place (cons item set)) #t))))

(define (predict sets place name)
  (filter (lambda (item) item)
          (map (lambda (rule)
                 (let ((item (make-item name rule place)))
                   (if (add! sets place item) item #f)))
               (rules-of name))))

(define (complete sets place item)
  (filter (lambda (new) new)
          (map (lambda (waiting)
                 (let ((new (advance waiting)))
                   (if (add! sets place new) new #f)))
               (filter (lambda (waiting) (eq? (item-next waiting) (car item)))
                       (vector-ref sets (caddr item))))))

(define (process sets place symbol agenda)
  (unless (null? agenda)
    (let* ((item (car agenda))
           (next (item-next item)))
      (process
       sets place symbol
       (append
        (cond ((not next) (complete sets place item))
              ((rules-of next) (predict sets place next))
              ((eq? next symbol) (add! sets (+ place 1) (advance item)) '())
              (else '()))
        (cdr agenda))))))

(define (parse text-length)
  (let ((sets (make-vector (+ text-length 2) '())))
    (predict sets 0 'E)
    (do ((place 0 (+ place 1)))
        ((> place text-length) sets)
      (process sets place (if (< place text-length) 'x #f) (vector-ref sets place)))))

; Ways to parse so many x, each way told by the lengths of the two halves: as lists, so that they live.
(define (trees count)
  (if (= count 1)
      '(x)
      (let loop ((left 1) (found '()))
        (if (= left count)
            found
            (loop (+ left 1)
                  (fold (lambda (a found)
                          (fold (lambda (b found) (cons (list a b) found))
                                found
                                (trees (- count left))))
                        found
                        (trees left)))))))

(define (main text-length)
  (let* ((sets (parse text-length))
         (last (vector-ref sets text-length)))
    (display (length last))
    (display " items at the end; ")
    (display (if (member (make-item 'E '() 0) last) "parsed" "not parsed"))
    (display ", in ")
    (display (length (trees (quotient (+ text-length 4) 2))))
    (display " ways for ")
    (display (quotient (+ text-length 4) 2))
    (newline)))

(main (argument 0 12))
