import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import {
  accepted,
  createTestDatabase,
  currentBackend,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../index.ts'
import { EXPECTED_SCHEMA_VERSION } from '../database/migrate.ts'

const RELEASES = join(import.meta.dirname, '..', '..', '..', '..', 'tests', 'fixtures', 'releases')
const QUIET = { flags: {}, onProgress: () => undefined }

/** Databases of earlier releases (tests/tools/make-release-fixture.ts), migrated to this one. */
describe.each(await readdir(RELEASES))('the database of release %s', (release) => {
  const from = join(RELEASES, release)
  let folder: string
  let database: TestDatabase
  let envFile: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-release-'))
    database = await createTestDatabase()
    envFile = join(folder, 'authority.env')
    const keyFile = join(folder, 'na.key')
    await writeFile(keyFile, writePrivateKeyFile(testSeed('na'), 'na-test'), { mode: 0o600 })
    const settings = {
      GENESIS_FILE: join(from, 'genesis.json'),
      NA_PRIVATE_KEY_FILE: keyFile,
      NA_KEY_ID: 'na-test',
      OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'op-privileged': (await testSigner('op-privileged')).publicKey }),
      OPERATOR_KEY_TIERS_JSON: '{"op-privileged":"privileged"}',
      ...database.settings,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(envFile, lines.join(''))
  })
  afterAll(async () => {
    await database.drop()
    await rm(folder, { recursive: true })
  })

  it('is rehearsed: migrated in a copy, with every record verified', async () => {
    // Jobs of that authority published lists, too, so their number is in the manifest only.
    const { tables } = JSON.parse(await readFile(join(from, 'manifest.json'), 'utf8')) as {
      readonly tables: Readonly<Record<string, number>>
    }
    const crl = tables['crl_versions'] ?? 0
    expect(crl).toBeGreaterThanOrEqual(3)
    const outcome = await commands.rehearse({ ...QUIET, envFile, from, onSqlite: false })
    expect(outcome).toMatchObject({
      ok: true,
      engine: currentBackend(),
      schemaVersion: EXPECTED_SCHEMA_VERSION,
      records: { crl, certificate: 3, attestation: 3, treaty: 2, 'evidence entry': 6, 'evidence anchor': 1 },
    })
  })

  it('is restored, and an authority of this release continues with it', async () => {
    const outcome = await commands.restore({ ...QUIET, envFile, from, restart: false, withoutMark: true })
    expect(outcome).toMatchObject({ ok: true })
    const na = await startTestAuthority({ database, settings: { EVIDENCE_STORE: 'on' } })
    try {
      expect(accepted(await na.request('GET', '/policy'))['policy_id']).toBe('two')
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'three' }), 201)
      expect(accepted(await na.as('standard')('GET', '/admin/evidence/verify'))['verified']).toBe(true)
    } finally {
      await na.stop()
    }
  })
})
