"""Archives of model files, written by hand: files that `save_model` never writes."""

import hashlib
import io
import json
import zipfile


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"xdcc model sha256:" + b"0" * 64
    content = buffer.getvalue()[:-64]
    return content + hashlib.sha256(content).hexdigest().encode()


def rewrite(path, change):
    """Change the manifest and members of a file, and make its checksum right again."""
    members = members_of(path.read_bytes())
    manifest = json.loads(members["manifest.json"])
    change(manifest, members)
    if "manifest.json" in members:
        members["manifest.json"] = json.dumps(manifest).encode()
    path.write_bytes(pack(members))
