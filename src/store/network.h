/* network.h - network file systems.
 *
 * SQLite's WAL needs memory shared by all readers and writers, which no network file system gives.
 */
#ifndef STORE_NETWORK_H
#define STORE_NETWORK_H

#include <stdio.h>

/* network_name - the one that holds path, or NULL: a local one, or unknown. */
const char *network_name(const char *path);
/* network_magic_name - the name of the network file system with this statfs f_type, or NULL.
 * network_mount_name - the same from the type that mountinfo states, such as "fuse.sshfs". */
const char *network_magic_name(long f_type);
const char *network_mount_name(const char *mount_type);
/* network_mount_type - the file system type of the mount major:minor in mountinfo; out is "" when
 * it is not listed. */
void network_mount_type(char *out, size_t room, FILE *mountinfo, unsigned major_n,
                        unsigned minor_n);

#endif
