import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'

/**
 * `npm run pack`: the workspaces that are published, as the tarballs npm installs. What they say of themselves differs
 * from the tree: no condition that leads to sources, which are not in them. Needs `npm run build` first.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

interface PackageFile {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly private?: boolean
  readonly exports?: Conditions
  readonly imports?: Conditions
  readonly files?: readonly string[]
}
type Conditions = { readonly [name: string]: string | Conditions }

/** Gives the tarballs, sorted by name. */
export async function packAll(target: string): Promise<readonly string[]> {
  await mkdir(target, { recursive: true })
  const stage = await mkdtemp(join(tmpdir(), 'chancery-pack-'))
  try {
    const staged = await Promise.all((await publishedFolders()).map((folder) => stagePackage(folder, stage)))
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', resolve(target), ...staged], {
      cwd: stage,
    })
    // npm 11 gives a list, npm 12 an object by name.
    const packed = Object.values(JSON.parse(stdout) as Record<string, { readonly filename: string }>)
    return packed.map(({ filename }) => join(target, filename)).sort()
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

async function stagePackage(folder: string, stage: string): Promise<string> {
  const about = await readPackage(folder)
  await requireBuilt(folder)
  const staged = join(stage, basename(folder))
  for (const name of about.files ?? [])
    await cp(join(folder, name), join(staged, name), { recursive: true, filter: isPublished })
  await cp(join(ROOT, 'LICENSE'), join(staged, 'LICENSE'))
  await cp(join(folder, 'README.md'), join(staged, 'README.md'))
  await writeFile(join(staged, 'package.json'), `${JSON.stringify(toPublished(about), undefined, 2)}\n`)
  return staged
}

/** Maps lead to sources that are not there; faults are for tests, and nothing published can reach them. */
function isPublished(path: string): boolean {
  return !/\.(map|tsbuildinfo)$|\/dist\/faults\.js$/.test(path)
}

/** Servers whose types an entry point extends. In the tree these peers would make npm install fastify with the product. */
const OPTIONAL_PEERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '@chancery/sdk': { fastify: '>=5', hono: '>=4' },
}

function toPublished(about: PackageFile): object {
  const { exports, imports } = about
  const peers = OPTIONAL_PEERS[about.name]
  const optional = Object.fromEntries(Object.keys(peers ?? {}).map((name) => [name, { optional: true }]))
  return {
    ...about,
    ...(peers === undefined ? {} : { peerDependencies: peers, peerDependenciesMeta: optional }),
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
