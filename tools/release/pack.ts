import { cp, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { sourceDate } from './source-date.ts'
import { packFolder } from './tar.ts'

/**
 * `npm run pack`: the workspaces that are published, as the tarballs npm installs. What they say of themselves differs
 * from the tree: no condition that leads to sources, which are not in them. Needs `npm run build` first.
 */

const ROOT = join(import.meta.dirname, '..', '..')

interface PackageFile {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly private?: boolean
  readonly exports?: Conditions
  readonly imports?: Conditions
  readonly files?: readonly string[]
  readonly optionalDependencies?: Versions
  readonly peerDependencies?: Versions
  readonly peerDependenciesMeta?: Readonly<Record<string, object>>
}
type Versions = Readonly<Record<string, string>>
type Conditions = { readonly [name: string]: string | Conditions }

/** Gives the tarballs, sorted by name. The same commit gives the same bytes. */
export async function packAll(target: string, seconds: number = sourceDate()): Promise<readonly string[]> {
  await mkdir(target, { recursive: true })
  const stage = await mkdtemp(join(tmpdir(), 'chancery-pack-'))
  try {
    const packed = (await publishedFolders()).map(async (folder) => {
      const { name, version } = await readPackage(folder)
      // The name that npm gives it.
      const file = join(target, `${name.replace(/^@/, '').replaceAll('/', '-')}-${version}.tgz`)
      // The folder that every package of npm is in.
      const staged = join(stage, basename(folder), 'package')
      await stagePackage(folder, staged)
      packFolder(staged, file, seconds)
      return file
    })
    return (await Promise.all(packed)).sort()
  } finally {
    await rm(stage, { recursive: true })
  }
}

/** Every workspace that is not private. */
async function publishedFolders(): Promise<readonly string[]> {
  const groups = await Promise.all(
    ['packages', 'apps'].map(async (group) =>
      (await readdir(join(ROOT, group))).map((name) => join(ROOT, group, name)),
    ),
  )
  const kept: string[] = []
  for (const folder of groups.flat()) if ((await readPackage(folder)).private !== true) kept.push(folder)
  return kept
}

/** Copies what is published of a workspace into `staged`. */
export async function stagePackage(folder: string, staged: string): Promise<void> {
  const about = await readPackage(folder)
  await requireBuilt(folder)
  for (const name of about.files ?? [])
    await cp(join(folder, name), join(staged, name), { recursive: true, filter: isPublished })
  await cp(join(ROOT, 'LICENSE'), join(staged, 'LICENSE'))
  await cp(join(folder, 'README.md'), join(staged, 'README.md'))
  await writeFile(join(staged, 'package.json'), `${JSON.stringify(toPublished(about), undefined, 2)}\n`)
}

/** Maps lead to sources that are not there; faults are for tests, and nothing published can reach them. */
function isPublished(path: string): boolean {
  return !/\.(map|tsbuildinfo)$|\/dist\/faults\.js$/.test(path)
}

/** Servers whose types an entry point extends. In the tree these peers would make npm install fastify with the product. */
const OPTIONAL_PEERS: Readonly<Record<string, Versions>> = {
  '@chancery/sdk': { fastify: '>=5', hono: '>=4' },
}

/**
 * Optional dependencies become optional peers: npm installs them only for a user who asks. The tree, and so the image,
 * has all of them (docs/decisions/0001).
 */
export function toPublished({ optionalDependencies, ...about }: PackageFile): object {
  const { exports, imports } = about
  const wanted = Object.entries(optionalDependencies ?? {}).map(([name, version]) => [name, `^${version}`] as const)
  const peers: Versions = { ...OPTIONAL_PEERS[about.name], ...Object.fromEntries(wanted) }
  const optional = Object.fromEntries(Object.keys(peers).map((name) => [name, { optional: true }]))
  const peerDependencies = { ...about.peerDependencies, ...peers }
  const peerDependenciesMeta = { ...about.peerDependenciesMeta, ...optional }
  return {
    ...about,
    ...(Object.keys(peerDependencies).length === 0 ? {} : { peerDependencies, peerDependenciesMeta }),
    ...(exports === undefined ? {} : { exports: withoutSources(exports) }),
    ...(imports === undefined ? {} : { imports: withoutSources(imports) }),
  }
}

/** Bundlers turn on «development» by themselves: it would lead them to files that were not packed. */
function withoutSources(conditions: Conditions): Conditions {
  const kept: Record<string, string | Conditions> = {}
  for (const [name, value] of Object.entries(conditions)) {
    if (name === 'development' || (typeof value === 'string' && value.startsWith('./src/'))) continue
    kept[name] = typeof value === 'string' ? value : withoutSources(value)
  }
  return kept
}

async function requireBuilt(folder: string): Promise<void> {
  const parts = folder.endsWith('authority') || folder.endsWith('gateway') ? ['dist', 'dist/console'] : ['dist']
  for (const part of parts)
    await stat(join(folder, part)).catch(() => {
      throw new Error(`${part} of ${folder} is missing: npm run build`)
    })
}

async function readPackage(folder: string): Promise<PackageFile> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as PackageFile
}

if (import.meta.main) {
  const target = process.argv[2] ?? join(ROOT, 'dist', 'packages')
  for (const file of await packAll(target)) {
    const { size } = await stat(file)
    console.log(`${file}  ${Math.ceil(size / 1024)} KiB`)
  }
}
