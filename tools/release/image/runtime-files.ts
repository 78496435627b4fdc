import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fetchLocked } from '../fetch-package.ts'
import { withoutSections } from './elf.ts'
import { DATA, LIBRARIES, type Platform, USER } from './platforms.ts'

/**
 * The layer below the program: Node.js of the lock file, and of Debian the C and C++ libraries it needs. No shell, no
 * package manager, no other program. Root certificates are those in Node.js.
 */

const ROOT = join(import.meta.dirname, '../../..')
/** Another mirror, for a machine that cannot reach this one. The digests decide, not the mirror. */
const MIRROR = process.env['CHANCERY_DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian'
/** Users and names. */
const SYSTEM_FILES: Readonly<Record<string, string>> = {
  'etc/passwd': `root:x:0:0::/:/nonexistent\nchancery:x:${USER}:${USER}::/${DATA}:/nonexistent`,
  'etc/group': `root:x:0:\nchancery:x:${USER}:`,
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns',
  'etc/os-release':
    'PRETTY_NAME="Debian GNU/Linux 12 (bookworm), libraries only"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm',
}

interface DebianPackage {
  readonly name: string
  readonly version: string
  readonly folder: string
  readonly sha256: Readonly<Record<Platform['architecture'], string>>
}

export function readDebianPackages(): readonly DebianPackage[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'deploy/image/debian.json'), 'utf8')) as {
    readonly packages: readonly DebianPackage[]
  }
  return packages
}

/** Writes the files of the platform below `target`. `work` is an empty folder. */
export async function stageRuntime(platform: Platform, work: string, target: string): Promise<void> {
  const root = join(work, 'debian')
  await mkdir(root, { recursive: true })
  const packages = readDebianPackages()
  for (const one of packages) await unpackDebian(one, platform.architecture, { work, root })
  const put = async (path: string, bytes: Uint8Array | string, mode = 0o644): Promise<void> => {
    const file = join(target, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, bytes, { mode })
  }
  await putLibraries(platform, root, put)
  await putContents(packages, root, put)
  fetchLocked(platform.node, join(work, 'node'))
  await put('usr/bin/node', withoutSections(await readFile(join(work, 'node/bin/node'))), 0o755)
  await put('usr/share/doc/node/LICENSE', await readFile(join(work, 'node/LICENSE')))
  for (const [path, lines] of Object.entries(SYSTEM_FILES)) await put(path, `${lines}\n`)
  for (const name of ['dev', 'proc', 'sys', 'tmp']) await mkdir(join(target, name), { recursive: true })
}

type Put = (path: string, bytes: Uint8Array | string, mode?: number) => Promise<void>

async function unpackDebian(
  { name, version, folder, sha256 }: DebianPackage,
  architecture: Platform['architecture'],
  { work, root }: { readonly work: string; readonly root: string },
): Promise<void> {
  const file = `${name}_${version}_${architecture}.deb`
  const response = await fetch(`${MIRROR}/${folder}/${file}`)
  if (!response.ok)
    throw new Error(
      `${MIRROR} has no ${file} (${response.status}). If Debian has a newer one, update deploy/image/debian.json`,
    )
  const bytes = new Uint8Array(await response.arrayBuffer())
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found !== sha256[architecture]) throw new Error(`${file} has SHA-256 ${found} instead of ${sha256[architecture]}`)
  await writeFile(join(work, file), bytes)
  execFileSync('dpkg-deb', ['--extract', join(work, file), root])
  const control = execFileSync('dpkg-deb', ['--field', join(work, file)])
  await writeFile(join(work, `${name}.control`), control)
}

/** Under the names that programs look for, so that no link is needed. */
async function putLibraries({ triplet, loader }: Platform, root: string, put: Put): Promise<void> {
  const places = [join(root, 'lib', triplet), join(root, 'usr/lib', triplet)]
  const read = async (name: string): Promise<Uint8Array> => {
    const place = places.find((folder) => existsSync(join(folder, name)))
    if (place === undefined) throw new Error(`the packages of Debian have no ${name}`)
    return readFile(join(place, name))
  }
  for (const name of Object.values(LIBRARIES).flat()) await put(`usr/lib/${triplet}/${name}`, await read(name), 0o755)
  await put(loader, await read(loader.split('/').at(-1) ?? ''), 0o755)
}

/** What scanners read, as in other images without a package manager, and the licences. */
async function putContents(packages: readonly DebianPackage[], root: string, put: Put): Promise<void> {
  for (const { name } of packages) {
    await put(`var/lib/dpkg/status.d/${name}`, await readFile(join(root, '..', `${name}.control`)))
    // Packages of gcc refer to the one that has the text.
    const licence = join(root, 'usr/share/doc', name, 'copyright')
    if (existsSync(licence)) await put(`usr/share/doc/${name}/copyright`, await readFile(licence))
  }
}
