#!/usr/bin/env bash
# npm run image: builds deploy/image/Dockerfile from a clean clone of HEAD, with buildah and without a container engine,
# a daemon or a registry of images. The two bases that the Dockerfile would fetch are made of Debian's packages instead.
# Needs root and: apt-get install buildah mmdebstrap. Leaves the image «localhost/chancery» and chancery-image.tar (OCI).
set -euo pipefail
cd "$(dirname "$0")/../../.."
export BUILDAH_ISOLATION=chroot
# Apart from what else buildah keeps on this machine; the bases stay for the next build.
STORE=${CHANCERY_IMAGE_STORE:-/var/tmp/chancery-images}
SUITE=bookworm
OUT=${1:-dist/chancery-image.tar}

for program in buildah mmdebstrap git; do
  command -v "$program" >/dev/null || { echo "$program is missing: apt-get install buildah mmdebstrap git" >&2; exit 1; }
done
if [ "$(id -u)" != 0 ]; then echo 'run it as root: chroot isolation needs it' >&2; exit 1; fi
if [ -n "$(git status --porcelain)" ]; then echo 'note: changes that are not committed are not in the image' >&2; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$STORE" "$(dirname "$OUT")"
store=(buildah --root "$STORE/root" --runroot "$STORE/run")
say() { echo "== $*"; }

import_base() { # name, tar of its root file system
  local container
  container=$("${store[@]}" from scratch)
  "${store[@]}" add --quiet "$container" "$2" / >/dev/null
  "${store[@]}" config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  "${store[@]}" commit --quiet --rm "$container" "$1" >/dev/null
}

build_base() {
  say 'base of the build: Debian with its Node.js and npm'
  mmdebstrap --quiet --variant=minbase --include=ca-certificates,nodejs,npm,libatomic1 "$SUITE" "$work/build.tar"
  import_base localhost/chancery-base-build "$work/build.tar"
}

# What gcr.io/distroless/cc-debian12 is: the C and C++ libraries and root certificates; no shell, no package manager.
run_base() {
  say 'base of the image: C and C++ libraries and root certificates'
  mmdebstrap --quiet --variant=extract --include=base-files,libc6,libstdc++6,libatomic1,ca-certificates \
    "$SUITE" "$work/run.tar"
  mkdir "$work/run"
  tar -xf "$work/run.tar" -C "$work/run" --exclude=./dev
  cat "$work"/run/usr/share/ca-certificates/mozilla/*.crt >"$work/run/etc/ssl/certs/ca-certificates.crt"
  # These were unpacked because root certificates depend on them: programs, and what programs need to install something.
  (cd "$work/run" && rm -rf bin sbin usr/bin usr/sbin usr/share/perl5 usr/share/debconf usr/share/locale usr/share/man \
    usr/share/ca-certificates usr/lib/ssl etc/apt var/lib/apt var/cache var/log)
  mkdir -p "$work/run/usr/bin" "$work/run/tmp" "$work/run/dev" "$work/run/proc" "$work/run/sys"
  chmod 1777 "$work/run/tmp"
  # Kubernetes and scanners look a user up; ours has a number that belongs to nobody else.
  echo 'chancery:x:10001:10001::/var/lib/chancery:/nonexistent' >"$work/run/etc/passwd"
  echo 'chancery:x:10001:' >"$work/run/etc/group"
  tar -cf "$work/run-clean.tar" -C "$work/run" --owner=0 --group=0 .
  import_base localhost/chancery-base-run "$work/run-clean.tar"
}

has_image() { "${store[@]}" inspect --type image "$1" >/dev/null 2>&1; }

has_image localhost/chancery-base-build || build_base
has_image localhost/chancery-base-run || run_base

say "clone of $(git rev-parse --short HEAD)"
git clone --quiet --no-hardlinks "file://$PWD" "$work/source"

# The build trusts what this machine trusts (a company's own root, for example). Mounted: nothing of it is kept.
echo 'cafile=/etc/ssl/certs/ca-certificates.crt' >"$work/npmrc"
trusted=/etc/ssl/certs/ca-certificates.crt

say 'deploy/image/Dockerfile'
"${store[@]}" build --quiet --format docker --layers=false --pull=never --ignorefile "$work/source/deploy/image/Dockerfile.dockerignore" \
  --build-arg BUILD_BASE=localhost/chancery-base-build --build-arg RUN_BASE=localhost/chancery-base-run \
  --volume "$trusted:$trusted:ro" --volume "$work/npmrc:/root/.npmrc:ro" \
  --file "$work/source/deploy/image/Dockerfile" --tag localhost/chancery "$work/source" >/dev/null

rm -f "$OUT"
"${store[@]}" push --quiet --format oci localhost/chancery "oci-archive:$OUT:chancery"
say "$OUT, $(du -h "$OUT" | cut -f1), $("${store[@]}" inspect --format '{{.FromImageDigest}}' --type image localhost/chancery)"
