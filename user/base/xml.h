/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign text in XML. What XML does not allow, or what controls a terminal or a line's order, is
 * replaced by U+FFFD: bytes that are not UTF-8, control characters (newlines and tabs too), U+FFFE
 * and U+FFFF, marks of direction.
 */
#ifndef BASE_XML_H
#define BASE_XML_H

#include "base/buf.h"

/* As the text of an element, or of an attribute in quotes of either kind. */
void xml_put(struct buf *b, const char *s, size_t len);

#endif
