/* SPDX-License-Identifier: Apache-2.0 */
/* test_send_http_get - shows what a URL asks for; tests/e2e/test_import_url.py fetches. */
#include "send/http_get.h"

#include "test.h"

TEST(the_time_that_a_server_is_asked_to_wait_is_in_the_query)
{
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/debug/pprof/heap?seconds=60"), 60);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/heap?gc=1&seconds=5&debug=0"), 5);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/heap?seconds=1e30"), 24 * 60 * 60);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/heap"), 0);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/seconds=60"), 0);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/heap?seconds="), 0);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/heap?seconds=-1"), 0);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/heap?leapseconds=7"), 0);
	CHECK_EQ_DOUBLE(gg_http_asked_seconds("http://h/heap?seconds=nan"), 0);
}
