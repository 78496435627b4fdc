import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fetchLocked } from '../fetch-package.ts'
import type { TarFile } from './tar.ts'
import { withoutSections } from './elf.ts'
import { DATA, LIBRARIES, type Platform, USER } from './platforms.ts'

/**
 * The layer below the program: Node.js of the lock file, and of Debian the C and C++ libraries it needs. No shell, no
 * package manager, no other program. Root certificates are those in Node.js.
 */

const ROOT = join(import.meta.dirname, '../../..')
/** Another mirror, for a machine that cannot reach this one. The digests decide, not the mirror. */
const MIRROR = process.env['CHANCERY_DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian'
const EMPTY = new Uint8Array()

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

/** `work` is an empty folder. */
export async function runtimeFiles(platform: Platform, work: string): Promise<readonly TarFile[]> {
  const root = join(work, 'debian')
  await mkdir(root, { recursive: true })
  const packages = readDebianPackages()
  for (const one of packages) await unpackDebian(one, platform.architecture, { work, root })
  const node = await readNode(platform, join(work, 'node'))
  return [
    ...(await libraryFiles(platform, root)),
    ...(await contentFiles(packages, root)),
    { path: 'usr/bin/node', bytes: withoutSections(node.program), mode: 0o755 },
    { path: 'usr/share/doc/node/LICENSE', bytes: node.licence },
    ...systemFiles(),
  ]
}

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
async function libraryFiles({ triplet, loader }: Platform, root: string): Promise<readonly TarFile[]> {
  const places = [join(root, 'lib', triplet), join(root, 'usr/lib', triplet)]
  const read = async (name: string): Promise<Uint8Array> => {
    const place = places.find((folder) => existsSync(join(folder, name)))
    if (place === undefined) throw new Error(`the packages of Debian have no ${name}`)
    return readFile(join(place, name))
  }
  const names = Object.values(LIBRARIES).flat()
  const libraries = names.map(async (name) => ({
    path: `usr/lib/${triplet}/${name}`,
    bytes: await read(name),
    mode: 0o755,
  }))
  const loaderName = loader.split('/').at(-1) ?? ''
  return [...(await Promise.all(libraries)), { path: loader, bytes: await read(loaderName), mode: 0o755 }]
}

/** What scanners read, as in other images without a package manager, and the licences. */
async function contentFiles(packages: readonly DebianPackage[], root: string): Promise<readonly TarFile[]> {
  const files: TarFile[] = []
  for (const { name } of packages) {
    files.push({ path: `var/lib/dpkg/status.d/${name}`, bytes: await readFile(join(root, '..', `${name}.control`)) })
    // Packages of gcc refer to the one that has the text.
    const licence = join(root, 'usr/share/doc', name, 'copyright')
    if (existsSync(licence)) files.push({ path: `usr/share/doc/${name}/copyright`, bytes: await readFile(licence) })
  }
  return files
}

async function readNode(
  { node }: Platform,
  folder: string,
): Promise<{ readonly program: Uint8Array; readonly licence: Uint8Array }> {
  fetchLocked(node, folder)
  return { program: await readFile(join(folder, 'bin/node')), licence: await readFile(join(folder, 'LICENSE')) }
}

/** Users, names, and folders that volumes are mounted on. */
function systemFiles(): readonly TarFile[] {
  const text = (path: string, lines: string): TarFile => ({ path, bytes: Buffer.from(`${lines}\n`) })
  const folder = (path: string, mode: number, owner = 0): TarFile => ({
    path,
    bytes: EMPTY,
    mode,
    owner,
    isFolder: true,
  })
  return [
    text('etc/passwd', `root:x:0:0::/:/nonexistent\nchancery:x:${USER}:${USER}::/${DATA}:/nonexistent`),
    text('etc/group', `root:x:0:\nchancery:x:${USER}:`),
    text('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns'),
    text(
      'etc/os-release',
      'PRETTY_NAME="Debian GNU/Linux 12 (bookworm), libraries only"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm',
    ),
    folder('tmp', 0o1777),
    ...['dev', 'proc', 'sys'].map((name) => folder(name, 0o755)),
    // New volumes mounted here get this owner.
    ...['', '/marks-a', '/marks-b', '/state'].map((name) => folder(`${DATA}${name}`, 0o755, USER)),
  ]
}
