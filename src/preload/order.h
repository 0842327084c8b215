/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order - which records precede the call of the real function, and which follow it.
 *
 * This is written here once; each row has a test of its number in tests/agent/test_agent_order.c.
 *
 * An address belongs to no thread from the moment the allocator gets it back, and to some thread
 * from the moment the allocator hands it out.  A record must be gone before the first moment, and
 * can only be made after the second.
 *
 *      call                        before the real call         after it
 *   1  malloc, calloc, aligned     decide                       record, if it is a sample
 *   2  ... that fails                                           nothing: there is no block
 *   3  ... size over PTRDIFF_MAX   put the bytes back           nothing: no allocator serves it
 *   4  free of a sample            record the free              -
 *   5  free of any other block     -                            -
 *   6  free(NULL)                  -                            -
 *   7  realloc of a sample that    note its id                  close the sample of that id; record
 *      moves or stays                                           the new block, if that is a sample
 *   8  ... that fails              note its id                  nothing: it is still the same block
 *   9  ... to size 0, freed        note its id                  close the sample of that id
 *  10  ... to size 0, kept         note its id                  as 7
 *  11  ... of any other block      decide                       as 1: the new size is a new stretch
 *                                                               of the stream
 *  12  realloc(NULL, n)            decide                       as 1
 *  13  reallocarray                as realloc of the product, by the real realloc(): libc's own
 *                                  reallocarray() would call back; an overflow fails: 8
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
 *      requested
 *
 * The reasons that are not obvious:
 *   4  Once free() returns, another thread may own the address, and our record would close that
 *      thread's block.
 *   7  If the block moves, another thread may own the old address before realloc() returns.  If
 *      that thread's block is a sample, its record has closed ours already (14).  Ids never come
 *      back, so by closing one id only, we cannot close the other thread's sample.
 *   9  glibc and gperftools free the block and return NULL; NULL with ENOMEM is a failure (8).
 *  10  jemalloc and mimalloc return a block of no bytes.
 *  14  A call that did not pass here freed the block: one of a static copy of the allocator, or of
 *      an interface of its own.
 *  16  The caller is recognized by its address, which is inside the real function.
 *  19  The block keeps its address and its owner, so no other thread can interfere.  Its new size
 *      is the requested one, with as much of the extra as the allocator gave.
 *
 * Nothing above depends on signal handlers or other threads in between: a handler that interrupts
 * the sample path of its own thread is not sampled, and a counter ("busy") records that.
 */
#pragma once
