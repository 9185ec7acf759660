"""Network mounts are told from local disks by the kernel's table."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.runtime.mounts import file_system, network_file_system

TABLE = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt/share\040one rw shared:5 - nfs4 server:/export rw
31 22 0:41 / /mnt/cloud rw - fuse.sshfs user@host:/ rw
32 22 0:42 / /mnt/disk rw - fuseblk /dev/sdb1 rw
33 30 0:43 / /mnt/share\040one/local rw - tmpfs none rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/etc/x", "ext4", None),
        ("/mnt/share one/home/config.yaml", "nfs4", "nfs4"),
        ("/mnt/share one/local/config.yaml", "tmpfs", None),
        ("/mnt/cloud/a", "fuse.sshfs", "fuse.sshfs"),
        ("/mnt/disk/a", "fuseblk", None),
        ("/mnt/cloudy", "ext4", None),
    ],
)
def test_the_deepest_mount_decides(path: str, kind: str, network: str | None) -> None:
    """BR-52: the mount with the longest matching path names the file system."""
    assert file_system(Path(path), table=TABLE) == kind
    assert network_file_system(Path(path), table=TABLE) == network
