import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** The sources of a release in a separate folder, with the modules of this checkout. */
interface ReleaseTree {
  readonly folder: string
  remove(): Promise<void>
}

/** 0.2.0, the last release. Change it when a release is made, as tests/fixtures/releases. */
export const LAST_RELEASE = '0ab573ec'

const OWN = join(import.meta.dirname, '..', '..', '..')
/** Files that an instance of an authority needs besides its modules. */
const PARTS = ['apps', 'packages', 'tests/instances', 'package.json', 'tsconfig.base.json', 'tsconfig.json']

/** Returns the sources of a commit. The clone must have its history. */
export async function unpackCommit(commit: string): Promise<ReleaseTree> {
  const known = await promisify(execFile)('git', ['cat-file', '-t', commit], { cwd: OWN }).catch(() => undefined)
  if (known?.stdout.trim() !== 'commit')
    throw new Error(`commit ${commit} is not in this clone. Fetch the whole history: git fetch --unshallow`)
  return makeTree(async (folder) => {
    const archive = spawn('git', ['archive', '--format=tar', commit], {
      cwd: OWN,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const unpack = spawn('tar', ['-x', '-C', folder], { stdio: ['pipe', 'inherit', 'inherit'] })
    archive.stdout.pipe(unpack.stdin)
    const codes = await Promise.all([archive, unpack].map(async (child) => (await once(child, 'exit'))[0] as number))
    if (codes.some((code) => code !== 0)) throw new Error(`commit ${commit} could not be unpacked`)
  })
}

/**
 * Returns these sources with one more migration, which adds a table, a column and an index and is compatible with this
 * release.
 */
export async function makeNextRelease(): Promise<ReleaseTree> {
  return makeTree(async (folder) => {
    await copyParts(folder, PARTS)
    const database = join(folder, 'apps', 'authority', 'src', 'database')
    const version = await addMigration(join(database, 'migrations'))
    const file = join(database, 'migrate.ts')
    const text = await readFile(file, 'utf8')
    const end = /,?\s*\](?=\n\nexport const EXPECTED_SCHEMA_VERSION)/
    if (!end.test(text)) throw new Error('migrate.ts does not end its list of migrations as expected')
    const line = `import { nextRelease } from './migrations/${nameOf(version)}'\n`
    await writeFile(file, line + text.replace(end, ', nextRelease]'))
  })
}

/** Returns these sources with further parts, which the caller may change. */
export function copySources(more: readonly string[]): Promise<ReleaseTree> {
  return makeTree((folder) => copyParts(folder, [...PARTS.filter((part) => !part.startsWith('tests/')), ...more]))
}

async function copyParts(folder: string, parts: readonly string[]): Promise<void> {
  for (const part of parts)
    await cp(join(OWN, part), join(folder, part), {
      recursive: true,
      filter: (source) => basename(source) !== 'node_modules',
    })
}

function nameOf(version: number): string {
  return `${String(version).padStart(4, '0')}-next-release.ts`
}

async function addMigration(folder: string): Promise<number> {
  const numbers = (await readdir(folder)).map((name) => Number(name.slice(0, 4)))
  const version = Math.max(...numbers) + 1
  const source = `import { sql } from 'kysely'
import type { Migration } from '../database.ts'

const nextRelease: Migration = {
  version: ${version},
  servesFrom: ${version - 1},
  async up(tx) {
    await tx.schema.createTable('of_next_release').addColumn('id', 'integer', (c) => c.primaryKey()).execute()
    await sql\`alter table issued_certs add column of_next_release text\`.execute(tx)
    await sql\`create index issued_certs_of_next_release on issued_certs (of_next_release)\`.execute(tx)
  },
}
`
  await writeFile(join(folder, nameOf(version)), source)
  return version
}

async function makeTree(fill: (folder: string) => Promise<void>): Promise<ReleaseTree> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-release-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    await fill(folder)
    await linkModules(folder)
    return { folder, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** All modules are those of this checkout, except the workspaces, which are those of the tree. */
async function linkModules(folder: string): Promise<void> {
  const [own, modules] = [join(OWN, 'node_modules'), join(folder, 'node_modules')]
  await mkdir(join(modules, '@chancery'), { recursive: true })
  for (const name of await readdir(own)) if (name !== '@chancery') await symlink(join(own, name), join(modules, name))
  for (const name of await readdir(join(own, '@chancery')))
    await symlink(await readlink(join(own, '@chancery', name)), join(modules, '@chancery', name))
  const nested = join('apps', 'cli', 'node_modules')
  await mkdir(dirname(join(folder, nested)), { recursive: true })
  await symlink(join(OWN, nested), join(folder, nested))
}
