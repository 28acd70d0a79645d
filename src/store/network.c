/* network.c - detects network file systems. FUSE hides the real one; its name is in the mount type.
 */
#include "store/network.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

enum { FUSE_MAGIC = 0x65735546 };

/* Source: statfs(2) and the kernel's uapi/linux/magic.h; the cluster systems' own headers. */
static const struct {
    uint32_t magic;
    const char *name;
} magic_table[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},        {0xff534d42, "CIFS"},  {0xfe534d42, "SMB2"},
    {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},   {0x00c36400, "Ceph"},  {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},    {0x73757245, "Coda"},   {0x564c, "NCP"},       {0x20030528, "OrangeFS"},
    {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},  {0x7461636f, "OCFS2"}, {0x01161970, "GFS2"},
    {0x786f4256, "vboxsf"}, {0xbacbacbc, "vmhgfs"},
};

static const char *const mount_names[] = {
    "fuse.sshfs",     "fuse.s3fs",      "fuse.rclone",  "fuse.glusterfs", "fuse.ceph",
    "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.gcsfuse", "fuse.davfs",     "fuse.juicefs",
    "fuse.moosefs",   "fuse.mfs",       "fuse.beegfs",  "fuse.smbnetfs",  "fuse.vmhgfs-fuse",
    "fuse.afs",       "fuse.cvmfs2",    "fuse.hdfs",    "fuse.fuse_dfs",
};

const char *network_magic_name(long f_type)
{
    for (size_t i = 0; i < sizeof magic_table / sizeof *magic_table; i++)
        if (magic_table[i].magic == (uint32_t)f_type) return magic_table[i].name;
    return NULL;
}

const char *network_mount_name(const char *mount_type)
{
    for (size_t i = 0; i < sizeof mount_names / sizeof *mount_names; i++)
        if (strcmp(mount_type, mount_names[i]) == 0) return mount_names[i] + strlen("fuse.");
    return NULL;
}

void network_mount_type(char *out, size_t room, FILE *mountinfo, unsigned major_n, unsigned minor_n)
{
    char line[4096], type[64];
    unsigned ids[2], found[2];

    out[0] = '\0';
    while (fgets(line, sizeof line, mountinfo)) {
        if (sscanf(line, "%u %u %u:%u", &ids[0], &ids[1], &found[0], &found[1]) != 4) continue;
        const char *dash = strstr(line, " - ");
        if (found[0] != major_n || found[1] != minor_n || !dash) continue;
        if (sscanf(dash + 3, "%63s", type) == 1) snprintf(out, room, "%s", type);
    }
}

const char *network_name(const char *path)
{
    char type[64];
    struct statfs fs;
    struct stat st;

    if (statfs(path, &fs) < 0) return NULL;
    if ((uint32_t)fs.f_type != FUSE_MAGIC) return network_magic_name((long)fs.f_type);
    FILE *mountinfo = stat(path, &st) == 0 ? fopen("/proc/self/mountinfo", "re") : NULL;
    if (!mountinfo) return NULL;
    network_mount_type(type, sizeof type, mountinfo, major(st.st_dev), minor(st.st_dev));
    fclose(mountinfo);
    return network_mount_name(type);
}
