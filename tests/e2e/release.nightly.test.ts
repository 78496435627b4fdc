import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, open, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { readPublicKeyFile } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkRelease } from '../../apps/cli/src/commands/release/check-release.ts'
import {
  CHECKSUMS_FILE,
  KEY_FILE,
  PROVENANCE_FILE,
  RELEASE_FILE,
} from '../../apps/cli/src/commands/release/release-files.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const MINUTES = 60_000
/** Other lengths of the path, other modes of the files. */
const CLONES = [
  { name: 'a', umask: '022' },
  { name: 'another-folder/b', umask: '077' },
] as const
/** Made with another throw-away key in each run. */
const SIGNED = [RELEASE_FILE, PROVENANCE_FILE, KEY_FILE]
const CONSOLES = ['apps/authority/dist/console', 'apps/gateway/dist/console', 'apps/cli/dist/evidence-page']

let folder = ''
/** The clones, each with its release in the folder `release`. */
let clones: readonly string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-reproduce-'))
  clones = CLONES.map(({ name }) => join(folder, name))
  // As a maintainer does it, with the Node.js that runs this to start with.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` }
  // A change that is merged meanwhile must not be in the second clone.
  const { stdout: commit } = await run('git', ['rev-parse', 'HEAD'], { cwd: ROOT })
  for (const { name, umask } of CLONES) {
    const clone = join(folder, name)
    const commands = [
      `umask ${umask}`,
      `git clone --quiet "file://${ROOT}" "${clone}"`,
      `cd "${clone}"`,
      `git checkout --quiet --detach ${commit.trim()}`,
      'npm ci --no-progress --prefer-offline --ignore-scripts --no-audit --no-fund',
      'npm run --silent release -- --dry-run',
    ]
    await run('sh', ['-ec', commands.join('\n')], { env, maxBuffer: 16_777_216 })
  }
}, 90 * MINUTES)
afterAll(() => rm(folder, { recursive: true, force: true }))

async function digests(root: string, names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  for (const name of names.toSorted())
    found[name] = createHash('sha256')
      .update(await readFile(join(root, name)))
      .digest('hex')
  return found
}

async function filesBelow(root: string, part: string): Promise<readonly string[]> {
  const entries = await readdir(join(root, part), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

describe('two releases of one commit, from two clean clones', () => {
  it('have the same bytes: packages, single file, image, chart, lists, notes and checksums', async () => {
    const [one, two] = await Promise.all(
      clones.map(async (clone) => {
        const names = await readdir(join(clone, 'release'))
        expect(names).toEqual(expect.arrayContaining(SIGNED))
        return digests(
          join(clone, 'release'),
          names.filter((name) => !SIGNED.includes(name)),
        )
      }),
    )
    expect(Object.keys(one ?? {}).length).toBeGreaterThanOrEqual(17)
    expect(one).toEqual(two)
  })

  it('have the same console bundles', async () => {
    const [one, two] = await Promise.all(
      clones.map(async (clone) => {
        const names = await Promise.all(CONSOLES.map((part) => filesBelow(clone, part)))
        return digests(clone, names.flat())
      }),
    )
    expect(Object.keys(one ?? {}).length).toBeGreaterThan(20)
    expect(one).toEqual(two)
  })
})

describe('the folder of a release', () => {
  const release = (): string => join(clones[0] ?? '', 'release')
  const ownKey = async (): Promise<string> =>
    readPublicKeyFile(await readFile(join(release(), KEY_FILE), 'utf8'))?.value ?? ''
  const problems = async (key: string): Promise<readonly string[]> => {
    const statement = await readFile(join(release(), RELEASE_FILE), 'utf8')
    const { checks } = await checkRelease(release(), statement, key)
    return checks.flatMap(({ status, details }) => (status === 'failed' ? details : []))
  }

  it('is verified by the single file in it, and by sha256sum', async () => {
    const program = (await readdir(release())).find((name) => name.endsWith(`-linux-${process.arch}`)) ?? ''
    const words = ['verify', release(), '--key', await ownKey()]
    const { stdout } = await run(join(release(), program), words, { env: { PATH: '/nonexistent' } })
    expect(stdout).toMatch(/^Valid: release \d/)
    await run('sha256sum', ['--check', '--strict', '--quiet', CHECKSUMS_FILE], { cwd: release() })
  })

  it(
    'has no file in which a changed bit is not found',
    async () => {
      const key = await ownKey()
      expect(await problems(key)).toEqual([])
      for (const name of await readdir(release())) {
        await flip(join(release(), name))
        const found = await problems(key)
        await flip(join(release(), name))
        expect(found, name).toEqual([
          name === RELEASE_FILE ? `${name} is not signed by this key, or was changed` : `${name} was changed`,
        ])
      }
      expect(await problems(key)).toEqual([])
    },
    10 * MINUTES,
  )
})

/** Flips one bit in the middle. */
async function flip(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    const at = Math.floor((await handle.stat()).size / 2)
    const byte = Buffer.alloc(1)
    await handle.read(byte, 0, 1, at)
    byte[0] = (byte[0] ?? 0) ^ 1
    await handle.write(byte, 0, 1, at)
  } finally {
    await handle.close()
  }
}
