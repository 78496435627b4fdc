import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stagePackage } from '../pack.ts'
import type { Platform } from './platforms.ts'

/** The program in the image: what the workspaces publish, and of the installed packages those that they run with. */

const ROOT = join(import.meta.dirname, '../../..')
/** Services, command and library, and the traces that an operator can turn on. */
const WORKSPACES = ['apps/authority', 'apps/cli', 'apps/gateway', 'packages/sdk', 'packages/telemetry']
/** The binding of tokens must be compiled for its machine: without it the start names what is missing. Types do not run. */
const LEFT_OUT = ['node_modules/pkcs11js', 'node_modules/@types/node']
/** For compilers, readers and other platforms. */
const UNUSED = [
  /\.d\.[cm]?ts$/,
  /\.map$/,
  /\/(?:readme|changelog|history)(?:\.md)?$/i,
  /\/sodium-native\/(?:prebuilds|extensions|binding\.cc|CMakeLists)/,
  /\/@cedar-policy\/cedar-wasm\/(?:esm|web)\//,
]

export interface LockedPackage {
  readonly version?: string
  readonly link?: boolean
  readonly resolved?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
export type LockedPackages = Readonly<Record<string, LockedPackage>>

export function readLockedPackages(): LockedPackages {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: LockedPackages
  }
  return lock.packages
}

/** Folders of workspaces and packages that run, as the lock file names them. */
export function runtimePackages(packages: LockedPackages, roots: readonly string[] = WORKSPACES): readonly string[] {
  const found = new Set<string>()
  const visit = (path: string): void => {
    const entry = packages[path]
    if (entry?.link === true) return visit(entry.resolved ?? '')
    if (entry === undefined || found.has(path) || LEFT_OUT.includes(path)) return
    found.add(path)
    for (const name of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) {
      const place = findPackage(packages, path, name)
      if (place !== undefined) visit(place)
      else if (entry.dependencies?.[name] !== undefined)
        throw new Error(`${path} needs ${name}, which is not in the lock file`)
    }
  }
  for (const root of roots) visit(root)
  return [...found].sort()
}

/** As Node.js looks for it: next to the package, then further up. */
function findPackage(packages: LockedPackages, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = folder === '.' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (packages[place] !== undefined) return place
    if (folder === '.') return undefined
  }
}

/** Writes the program below `app`. It is the same for every platform. */
export async function stageApp(app: string): Promise<void> {
  const packages = readLockedPackages()
  const paths = runtimePackages(packages)
  const workspaces = paths.filter((path) => !path.includes('node_modules'))
  for (const path of paths) {
    if (workspaces.includes(path)) await stagePackage(join(ROOT, path), join(app, path))
    else await stageInstalled(path, packages[path]?.version, app)
  }
  for (const entry of await readdir(app, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isDirectory() && UNUSED.some((pattern) => pattern.test(path))) await rm(path)
  }
  execFileSync('find', [app, '-type', 'd', '-empty', '-delete'])
  const links = join(app, 'node_modules/@chancery')
  await mkdir(links)
  for (const path of workspaces) await symlink(`../../${path}`, join(links, path.split('/')[1] ?? ''))
  const own = { name: 'chancery-image', private: true, type: 'module' }
  await writeFile(join(app, 'package.json'), `${JSON.stringify(own)}\n`)
  await cp(join(ROOT, 'LICENSE'), join(app, 'LICENSE'))
  await cp(join(ROOT, 'deploy/image/probe.mjs'), join(app, 'probe.mjs'))
}

async function stageInstalled(path: string, version: string | undefined, app: string): Promise<void> {
  const folder = join(ROOT, path)
  const about = join(folder, 'package.json')
  if (!existsSync(about)) throw new Error(`${path} is not installed: npm ci`)
  const installed = (JSON.parse(await readFile(about, 'utf8')) as { readonly version: string }).version
  if (installed !== version) throw new Error(`${path} is ${installed} instead of ${version}: npm ci`)
  // Packages inside it are in the lock file themselves.
  const filter = (source: string): boolean => !source.slice(folder.length).includes('/node_modules')
  await cp(folder, join(app, path), { recursive: true, filter })
}

/** Writes the native libsodium of one platform. */
export async function stageNative({ prebuild }: Platform, app: string): Promise<void> {
  const path = `node_modules/sodium-native/prebuilds/${prebuild}/sodium-native.node`
  await cp(join(ROOT, path), join(app, path))
}
