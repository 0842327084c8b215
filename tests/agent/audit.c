/* SPDX-License-Identifier: Apache-2.0 */
/* audit - an audit library of the loader (rtld-audit(7)), which allocates. */
#include <link.h>
#include <stdlib.h>

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie);

unsigned la_version(unsigned version)
{
	return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	(void)map;
	(void)namespace;
	(void)cookie;
	free(malloc(1000));
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
