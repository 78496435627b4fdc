import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stagePackage } from '../pack.ts'
import { type TarFile, readTree } from './tar.ts'
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

/** The same for every platform. `stage` is an empty folder. */
export async function appFiles(stage: string): Promise<readonly TarFile[]> {
  const packages = readLockedPackages()
  const files: TarFile[] = []
  for (const path of runtimePackages(packages)) {
    if (path.includes('node_modules')) files.push(...(await packageFiles(path, packages[path]?.version)))
    else {
      await stagePackage(join(ROOT, path), join(stage, path))
      files.push(...(await readTree(join(stage, path), `app/${path}`)))
      const name = path.split('/')[1] ?? ''
      files.push({ path: `app/node_modules/@chancery/${name}`, bytes: new Uint8Array(), link: `../../${path}` })
    }
  }
  const own = { name: 'chancery-image', private: true, type: 'module' }
  return [
    ...files.filter(({ path }) => !UNUSED.some((pattern) => pattern.test(path))),
    { path: 'app/package.json', bytes: Buffer.from(`${JSON.stringify(own)}\n`) },
    { path: 'app/LICENSE', bytes: await readFile(join(ROOT, 'LICENSE')) },
    { path: 'app/probe.mjs', bytes: await readFile(join(ROOT, 'deploy/image/probe.mjs')) },
  ]
}

async function packageFiles(path: string, version: string | undefined): Promise<readonly TarFile[]> {
  const folder = join(ROOT, path)
  const about = join(folder, 'package.json')
  if (!existsSync(about)) throw new Error(`${path} is not installed: npm ci`)
  const installed = (JSON.parse(await readFile(about, 'utf8')) as { readonly version: string }).version
  if (installed !== version) throw new Error(`${path} is ${installed} instead of ${version}: npm ci`)
  const files = await readTree(folder, `app/${path}`)
  // Packages inside it are in the lock file themselves.
  return files.filter((file) => !file.path.slice(`app/${path}`.length).includes('/node_modules/'))
}

/** The native libsodium of one platform. */
export async function nativeFiles({ prebuild }: Platform): Promise<readonly TarFile[]> {
  const path = `node_modules/sodium-native/prebuilds/${prebuild}/sodium-native.node`
  return [{ path: `app/${path}`, bytes: await readFile(join(ROOT, path)), mode: 0o755 }]
}
