/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order - what is recorded before and what after the call of the real function.  Written here once;
 * each row has a test of its number in tests/agent/test_agent_order.c.
 *
 * An address belongs to nobody from the moment the allocator has it back, and to some thread from
 * the moment the allocator hands it out.  A record must be gone before the first, and can only be
 * made after the second.
 *
 *      call                        before the real call         after it
 *   1  malloc, calloc, aligned     decide                       record, if it is a sample
 *   2  ... that fails                                           nothing: there is no block
 *   3  ... size over PTRDIFF_MAX   put the bytes back           nothing: no allocator serves it
 *   4  free of a sample            record the free              -
 *   5  free of anything else       -                            -
 *   6  free(NULL)                  -                            -
 *   7  realloc of a sample that    note its id                  close the sample of that id; record
 *      moves or stays                                           the new block, if that is a sample
 *   8  ... that fails              note its id                  nothing: it is still the same block
 *   9  ... to size 0, freed        note its id                  close the sample of that id
 *  10  ... to size 0, kept         note its id                  as 7
 *  11  ... of anything else        decide                       as 1: the new size is a new stretch
 *                                                               of the stream
 *  12  realloc(NULL, n)            decide                       as 1
 *  13  reallocarray                as realloc of the product, whose real function is called: libc's
 *                                  own would call back; one that overflows fails: 8
 *  14  address new that is still   -                            close the old record as a missed
 *      on record                                                free, then record
 *  15  operator new, mallocx       decide                       as 1 and 2; one that throws: 2
 *      and others (extra_functions.h)
 *  16  a call of 1 by the real     decide                       nothing: 15 records it
 *      function of 15
 *  17  operator delete, dallocx,   as 4, 5 and 6                -
 *      sdallocx and others
 *  18  rallocx                     as realloc: 7, 8, 11
 *  19  xallocx                     -                            decide; close the sample that the
 *                                                               block is; record its new size
 *  20  ... that gives less than    -                            nothing: it is still the same block
 *      was asked for
 *
 * Why each, where it is not plain:
 *   4  once free() returns, another thread may own the address, and our record would close that
 *      thread's block.
 *   7  if the block moves, another thread may own the old address before realloc() returns.  If its
 *      block is a sample too, that has closed ours (14), and if it was freed already, that has; the
 *      id, which never comes back, keeps us from closing that thread's.
 *   9  glibc and gperftools free and return NULL; a NULL with ENOMEM is a failure (8).
 *  10  jemalloc and mimalloc return a block of no bytes.
 *  14  the block was freed by a call that did not pass here (a static copy of the allocator, an
 *      interface of its own).
 *  16  the caller is known by its address: it is within the real function.
 *  19  the block stays where it is and with whom it is, so nothing can come in between.  Its size is
 *      what was asked for, with as much of the extra as was given.
 *
 * Nothing above depends on what a signal handler or another thread does in between: a handler that
 * interrupts the sample path of its own thread passes through and is counted as "busy".
 */
#pragma once
