import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { accepted, currentBackend, seedTreaties, startTestAuthority, testSeed } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../../index.ts'
import { openExistingSqlite, openSqlite, openSqliteExclusive } from './open.ts'
import { StoreVerifier } from '../../features/evidence/store-verifier.ts'

const TREATIES = Array.from({ length: 1001 }, (_, i) => ({ treaty_id: `t${i}`, from: `S${i % 9}`, to: `T${i}` }))

/**
 * The kernel drops all locks of a process on a file when the process closes any descriptor of it. Commands run here
 * inside the process of a live authority: a descriptor opened outside SQLite would drop its locks.
 */
describe.runIf(currentBackend() === 'sqlite' && process.platform === 'linux')('the live SQLite file', () => {
  let na: TestAuthority
  let folder: string
  let envFile: string
  let path: string
  const progress = { onProgress: () => undefined }

  beforeAll(async () => {
    na = await startTestAuthority({ settings: { EVIDENCE_STORE: 'on' } })
    path = na.database.settings['DB_PATH'] ?? ''
    folder = await mkdtemp(join(tmpdir(), 'chancery-live-'))
    envFile = join(folder, 'authority.env')
    await writeFile(join(folder, 'genesis.json'), writeJson(na.genesis))
    await writeFile(join(folder, 'na.key'), writePrivateKeyFile(testSeed('na'), 'na-test'), { mode: 0o600 })
    const settings = {
      GENESIS_FILE: join(folder, 'genesis.json'),
      NA_PRIVATE_KEY_FILE: join(folder, 'na.key'),
      NA_KEY_ID: 'na-test',
      OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ op: na.signers['privileged']?.publicKey }),
      OPERATOR_KEY_TIERS_JSON: JSON.stringify({ op: 'privileged' }),
      EVIDENCE_STORE: 'on',
      DB_PATH: path,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
    await writeFile(envFile, lines.join('\n'), { mode: 0o600 })
    await na.core.rollback.writeMark()
  })
  afterAll(async () => {
    await na.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** The lock on the file by which another program knows that it is in use, as the kernel has it. */
  async function expectLocked(): Promise<void> {
    const { ino } = await stat(path)
    const held = new RegExp(` READ +${process.pid} [^ ]+:${ino} `)
    const locks = (await readFile('/proc/locks', 'utf8')).split('\n')
    expect(locks.filter((line) => held.test(line))).toHaveLength(1)
  }

  /** A command that gave up early would show nothing. */
  async function ran(outcome: Promise<{ readonly ok: boolean }>): Promise<void> {
    expect((await outcome).ok).toBe(true)
  }

  const uses: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['of the start', async () => undefined],
    ['after doctor', () => commands.diagnose({ flags: {}, envFile })],
    ['after verify-db', () => ran(commands.verifyDatabase({ flags: {}, envFile }))],
    ['after backup', () => ran(commands.backup({ flags: {}, envFile, to: join(folder, 'backup'), ...progress }))],
    ['after a rehearsal of restore', () => ran(commands.rehearse({ flags: {}, envFile, onSqlite: true, ...progress }))],
    ['after audit export', () => commands.auditExport({ flags: {}, envFile, out: join(folder, 'audit.jsonl') })],
    [
      'while the thread of the graph opens it',
      async () => {
        await seedTreaties(na.parts, TREATIES)
        accepted(await na.request('GET', '/recognition-graph'))
      },
    ],
    [
      'while the thread of the inspection opens it',
      async () => {
        const verifier = new StoreVerifier()
        await verifier.view(na.parts, Array<string>(201).fill('{}'), undefined)
        await verifier.close()
      },
    ],
    ['after another opening and closing', () => openSqlite(path).close()],
    ['after a closing by one who expects it there', () => openExistingSqlite(path).close()],
    ['after it could not be had alone', async () => expect(() => openSqliteExclusive(path)).toThrow(/SQLite/)],
  ]

  it.each(uses)('keeps the locks %s', async (_when, use) => {
    await use()
    await expectLocked()
  })

  it('is created for its owner only, and by nothing but a start', async () => {
    const fresh = join(folder, 'fresh.db')
    expect(() => openExistingSqlite(fresh)).toThrow(/cannot be read/)
    await expect(stat(fresh)).rejects.toThrow(/ENOENT/)
    await openSqlite(fresh).close()
    expect((await stat(fresh)).mode & 0o777).toBe(0o600)
  })
})
