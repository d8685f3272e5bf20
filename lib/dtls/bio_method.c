// SPDX-License-Identifier: BSD-3-Clause
// Makes BIO methods of libcrypto.
#include "bio_method.h"

static int create_bio(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

BIO_METHOD *dtls_bio_method(const char *name, int (*in)(BIO *b, char *buf, int len),
	int (*out)(BIO *b, const char *buf, int len), long (*ctrl)(BIO *b, int, long, void *))
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, name);

	if (m != NULL && BIO_meth_set_read(m, in) == 1 && BIO_meth_set_write(m, out) == 1 &&
		BIO_meth_set_ctrl(m, ctrl) == 1 && BIO_meth_set_create(m, create_bio) == 1)
		return m;
	BIO_meth_free(m);
	return NULL;
}
