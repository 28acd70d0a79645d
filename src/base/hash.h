/* hash.h - SHA-256 for identity and files (as sha256sum prints it), CRC-32C for event records. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { HASH_HEX_BYTES = 65 }; /* 64 hex digits and the terminating zero */

void hash_sha256_hex(char out[HASH_HEX_BYTES], const void *data, size_t n);

/* Incremental form for large files. */
struct hash_state;
int hash_open(struct hash_state **out, struct err *e);
int hash_add(struct hash_state *h, const void *data, size_t n, struct err *e);
int hash_close(struct hash_state *h, char out[HASH_HEX_BYTES],
               struct err *e); /* frees h; out may be NULL; takes NULL */

/* hash_file - SHA-256 of a whole file. Errors: ERR_NOINPUT, ERR_IO. */
int hash_file(char out[HASH_HEX_BYTES], const char *path, struct err *e);

/* hash_check - compares the SHA-256 of a file with the expected one. Errors: those of hash_file;
 * ERR_DATA states both hashes and then `remedy`. */
int hash_check(const char *path, const char *expected, const char *remedy, struct err *e);

/* hash_is_sha256 - whether text is 64 hex digits in lower case. */
bool hash_is_sha256(const char *text);

/* hash_crc32c - Castagnoli polynomial, start with crc = 0. */
uint32_t hash_crc32c(uint32_t crc, const void *data, size_t n);

#endif
