; SPDX-License-Identifier: Apache-2.0
;
; Writes a text in JSON, parses it, and adds up the numbers in it: strings, symbols, numbers with and
; without a point, nested lists, a closure for each place in the text.
;
;   nursery parser.scm [RECORDS]     200 without it

; ---- The text. ----

(define (join separator texts)
  (if (null? texts)
      ""
      (fold (lambda (text result) (string-append result separator text))
            (car texts)
            (cdr texts))))

(define (record-text number)
  (string-append
   "{\"id\": " (number->string number)
   ", \"name\": \"record " (number->string (* number number)) "\""
   ", \"weight\": " (number->string (modulo (* number 7) 100)) "." (number->string (modulo number 10))
   ", \"valid\": " (if (= (modulo number 3) 0) "true" "false")
   ", \"tags\": [\"a\", \"b\", [" (number->string (- number)) ", null]]}"))

(define (record-texts from to)
  (if (> from to)
      '()
      (cons (record-text from) (record-texts (+ from 1) to))))

; Pairs of neighbours first, so that long texts are copied a few times only.
(define (join-halves texts count)
  (if (< count 8)
      (join ",\n" texts)
      (let* ((half (quotient count 2))
             (split (split-at texts half)))
        (string-append (join-halves (car split) half)
                       ",\n"
                       (join-halves (cdr split) (- count half))))))

(define (split-at items count)
  (if (= count 0)
      (cons '() items)
      (let ((split (split-at (cdr items) (- count 1))))
        (cons (cons (car items) (car split)) (cdr split)))))

; ---- The parser: (read-... next) reads from a source, which gives one character at a time. ----

(define (make-source text)
  (let ((position 0)
        (end (string-length text)))
    (lambda (take)
      (if (= position end)
          #f
          (let ((character (string-ref text position)))
            (when take (set! position (+ position 1)))
            character)))))

(define (peek source) (source #f))
(define (take source) (source #t))

(define (skip-space source)
  (when (and (peek source) (char-whitespace? (peek source)))
    (take source)
    (skip-space source)))

(define (expect source character)
  (skip-space source)
  (unless (eq? (take source) character)
    (error "another character was expected")))

(define (read-while source wanted?)
  (let loop ((read '()))
    (if (and (peek source) (wanted? (peek source)))
        (loop (cons (take source) read))
        (list->string (reverse read)))))

(define (number-character? character)
  (or (char-numeric? character) (memv character '(#\- #\.))))

(define (read-string source)
  (expect source #\")
  (let ((text (read-while source (lambda (character) (not (eq? character #\"))))))
    (expect source #\")
    text))

(define (read-word source)
  (string->symbol (read-while source char-alphabetic?)))

; What read-item reads, with commas between, up to the character `end`.
(define (read-items source end read-item)
  (skip-space source)
  (if (eq? (peek source) end)
      (begin (take source) '())
      (let loop ((items (list (read-item source))))
        (skip-space source)
        (if (eq? (take source) end)
            (reverse items)
            (loop (cons (read-item source) items))))))

(define (read-member source)
  (skip-space source)
  (let ((name (string->symbol (read-string source))))
    (expect source #\:)
    (cons name (read-value source))))

(define (read-value source)
  (skip-space source)
  (let ((character (peek source)))
    (case character
      ((#\{) (take source) (cons 'object (read-items source #\} read-member)))
      ((#\[) (take source) (cons 'array (read-items source #\] read-value)))
      ((#\") (read-string source))
      (else (if (number-character? character)
                (string->number (read-while source number-character?))
                (read-word source))))))

; ---- What is in it. ----

(define (sum-of value)
  (cond ((number? value) value)
        ((not (pair? value)) 0)
        ((eq? (car value) 'object)
         (fold (lambda (member sum) (+ sum (sum-of (cdr member)))) 0 (cdr value)))
        (else (fold (lambda (item sum) (+ sum (sum-of item))) 0 (cdr value)))))

(define (main count)
  (let* ((text (string-append "[" (join-halves (record-texts 1 count) count) "]"))
         (value (read-value (make-source text))))
    (display (string-length text))
    (display " characters, ")
    (display (length (cdr value)))
    (display " records, the numbers in them add up to ")
    (display (sum-of value))
    (newline)
    (write (cadr value))
    (newline)))

(main (argument 0 200))
