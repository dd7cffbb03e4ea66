/* params_list.c - values of parameters as bytes, for another process.
 * SPDX-License-Identifier: ISC */
#include "proto/params_list.h"

#include <stddef.h>

#include "proto/params.h"
#include "proto/writer.h"

void params_list_write(const struct params_table *t, const struct params *set,
    struct writer *w)
{
	struct writer list;

	/* the list is made apart, as its length stands in front */
	writer_init(&list, w->cap);
	for (int i = 0; set != NULL && i < params_count(t); i++) {
		const char *const value = params_get(set, i);

		writer_str(&list, params_name(t, i));
		writer_u8(&list, value != NULL);
		if (value != NULL)
			writer_str(&list, value);
	}
	writer_u32(w, (uint32_t)list.len);
	writer_bytes(w, list.at, list.len);
	w->failed = w->failed || list.failed;
	writer_fini(&list);
}

void params_list_read(struct reader *r, struct reader *list)
{
	const uint32_t len = reader_u32(r);
	const uint8_t *const at = reader_bytes(r, len);
	struct params_pair pair;

	reader_init(list, at, at == NULL ? 0 : len);
	struct reader walk = *list;

	while (params_list_next(&walk, &pair))
		continue;
	r->failed = r->failed || walk.failed;
}

bool params_list_next(struct reader *list, struct params_pair *out)
{
	if (reader_left(list) == 0)
		return false;
	out->name = reader_str(list);
	out->value = reader_u8(list) == 0 ? NULL : reader_str(list);
	return !list->failed;
}

int params_list_load(const struct params_table *t, struct reader list,
    struct params **out)
{
	struct params_pair pair;

	while (params_list_next(&list, &pair)) {
		const int i = params_find(t, pair.name);

		if (i >= 0 && pair.value != NULL &&
		    params_set(out, i, pair.value) < 0)
			return -1;
	}
	return 0;
}

uint64_t params_list_bits(const struct params_table *t, struct reader list,
    uint64_t there)
{
	struct params_pair pair;
	uint64_t here = 0;

	for (unsigned n = 0; n < 64 && params_list_next(&list, &pair); n++) {
		const int i = params_find(t, pair.name);

		if (i >= 0 && (there >> n & 1) != 0)
			here |= (uint64_t)1 << i;
	}
	return here;
}
