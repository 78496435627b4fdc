// oxlint-disable max-lines -- one backup and every way to restore it
import { appendFile, cp, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import {
  accepted,
  createInvite,
  createTestDatabase,
  currentBackend,
  enroll,
  nodeCaller,
  postgresServer,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { Backend, TestAuthority, TestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ruleTerms } from '../features/admission/admission-rule.suite.ts'
import { commands } from '../index.ts'
import { readMark } from '../rollback/mark-file.ts'
import { DOMAINS } from '../database/locks/domains.ts'
import { EXPECTED_SCHEMA_VERSION, migrate, readSchemaVersion } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { openSqliteReadOnly } from '../database/sqlite/open.ts'
import { UnfinishedCopyError } from '../database/copy/unfinished-copy.ts'
import type { BackupManifest } from './manifest.ts'
import { startUsedAuthority } from './used-authority.suite.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const SERVED = ['/crl', '/sovereign-revocation-feed', '/policy', '/recognition-policy', '/data-usage/policy']
const SETTINGS = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
const SERVER = postgresServer()
const QUIET = { flags: {}, onProgress: () => undefined }

/** `chancery authority backup`, `restore` and `rehearse`: reliability 12. */
describe('a backup', () => {
  let folder: string
  let mark: string
  let life: TestDatabase
  let na: TestAuthority
  let served: readonly string[]
  let backup: string
  let manifest: BackupManifest
  const dropped: TestDatabase[] = []

  /** Settings of the same authority on another database. */
  const envFor = async (database: TestDatabase, marks = mark): Promise<string> => {
    const path = join(folder, `${Math.random().toString(36).slice(2)}.env`)
    const { genesisFile, keySource } = na.settings
    const settings = {
      GENESIS_FILE: join(folder, 'genesis.json'),
      NA_PRIVATE_KEY_FILE: join(folder, 'na.key'),
      NA_KEY_ID: 'na-test',
      OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'op-privileged': (await testSigner('op-privileged')).publicKey }),
      OPERATOR_KEY_TIERS_JSON: JSON.stringify({ 'op-privileged': 'privileged' }),
      NA_HIGH_WATER_FILES: marks,
      ...database.settings,
    }
    await cp(genesisFile, settings.GENESIS_FILE)
    if (keySource.provider === 'file') await cp(keySource.path, settings.NA_PRIVATE_KEY_FILE)
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(path, lines.join(''))
    return path
  }
  const emptyDatabase = async (backend?: Backend): Promise<TestDatabase> => {
    const database = await createTestDatabase(backend)
    dropped.push(database)
    return database
  }
  /** A restored authority has separate files, so that its mark does not affect the first one. */
  const copyMark = async (): Promise<string> => {
    const copy = join(folder, `${Math.random().toString(36).slice(2)}.mark`)
    await cp(mark, copy)
    return copy
  }
  const startOn = (database: TestDatabase, marks: string): Promise<TestAuthority> =>
    startTestAuthority({ database, settings: { ...SETTINGS, NA_HIGH_WATER_FILES: marks } })
  const read = (authority: TestAuthority): Promise<string[]> =>
    Promise.all(SERVED.map(async (at) => (await authority.request('GET', at)).text))
  const restoreInto = async (database: TestDatabase, more: { from?: string; restart?: boolean } = {}) =>
    commands.restore({
      ...QUIET,
      envFile: await envFor(database),
      from: backup,
      restart: false,
      withoutMark: false,
      ...more,
    })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-backup-'))
    mark = join(folder, 'one.mark')
    life = await createTestDatabase()
    na = await startUsedAuthority({ database: life, settings: { ...SETTINGS, NA_HIGH_WATER_FILES: mark } })
    served = await read(na)
    backup = join(folder, 'backup')
    const outcome = await commands.backup({ ...QUIET, envFile: await envFor(life), to: backup })
    if (!outcome.ok) throw new Error(outcome.message)
    if (outcome.behind.length > 0) throw new Error('the database is behind its mark')
    manifest = outcome.manifest
    await na.core.rollback.writeMark()
  })
  afterEach(async () => {
    for (const database of dropped.splice(0)) await database.drop()
  })
  afterAll(async () => {
    await na.stop()
    await life.drop()
    await rm(folder, { recursive: true })
  })

  it('is taken while the authority serves, and describes its content', async () => {
    accepted(await na.request('GET', '/readyz'))
    expect(manifest).toMatchObject({
      backup_version: 1,
      network_name: 'TEST-NET',
      key_id: 'na-test',
      engine: currentBackend(),
      schema_version: EXPECTED_SCHEMA_VERSION,
      high_water: { crl: { sequence: 3 }, feed: { sequence: 2 }, evidence: { sequence: 6 }, revoked_certificates: 3 },
      tables: { crl_versions: 4, issued_certs: 3, evidence_entries: 6, heads: DOMAINS.length },
    })
    const stored = await readMark(mark, [na.genesis.network_authority.public_key])
    expect(manifest.high_water.crl).toEqual(stored?.crl)
    expect(manifest.high_water.evidence).toEqual(stored?.evidence)
    expect(manifest.parts.map(({ name }) => name)).toEqual(['database.sqlite', 'genesis.json'])
    expect((await readdir(backup)).sort()).toEqual(['database.sqlite', 'genesis.json', 'manifest.json'])
  })

  it('has no private key, and only its owner can read it', async () => {
    const key = (await readFile(join(folder, 'na.key'), 'utf8')).split('\n').find((line) => /^[\w+/=]{40,}$/.test(line))
    expect(key).toBeDefined()
    for (const name of await readdir(backup)) {
      expect((await readFile(join(backup, name))).includes(key ?? '')).toBe(false)
      expect((await stat(join(backup, name))).mode & 0o077).toBe(0)
    }
    expect((await stat(backup)).mode & 0o077).toBe(0)
  })

  it('is one consistent state, whatever is committed in the meantime', async () => {
    const to = join(folder, 'busy')
    let count = 0
    let isTaking = true
    const writing = (async () => {
      while (isTaking) {
        await rowsOf(na.core.database)
          .insertInto('nonces')
          .values([0, 1].map((half) => ({ claim: Buffer.from(`busy-${count}-${half}`), expires_at: '2099' })))
          .execute()
        count += 1
        // SQLite runs synchronously, so other callers need a pause.
        await pause(1)
      }
    })()
    const outcome = await commands.backup({ ...QUIET, envFile: await envFor(life), to })
    isTaking = false
    await writing
    expect(outcome.ok).toBe(true)
    const copy = openSqliteReadOnly(join(to, 'database.sqlite'))
    const { rows } = await sql<{ claim: Uint8Array }>`select claim from nonces where expires_at = '2099'`.execute(
      copy.read,
    )
    await copy.close()
    const halves = new Map<string, number>()
    for (const { claim } of rows) {
      const pair = Buffer.from(claim).toString().slice(0, -2)
      halves.set(pair, (halves.get(pair) ?? 0) + 1)
    }
    expect([...halves.values()].every((seen) => seen === 2)).toBe(true)
    await rowsOf(na.core.database).deleteFrom('nonces').where('expires_at', '=', '2099').execute()
    expect(count).toBeGreaterThan(0)
  })

  it('is never overwritten, and a failed one leaves nothing', async () => {
    const again = await commands.backup({ ...QUIET, envFile: await envFor(life), to: backup })
    expect(again).toMatchObject({ ok: false, code: 'backup_unusable' })
    const empty = await emptyDatabase()
    const to = join(folder, 'of-nothing')
    const none = await commands.backup({ ...QUIET, envFile: await envFor(empty), to })
    expect(none.ok).toBe(false)
    expect((await readdir(folder)).filter((name) => name.startsWith('of-nothing'))).toEqual([])
  })

  it.each<[Backend]>([['sqlite'], ['postgres']])(
    'restored into %s continues with the same bytes, and is never restored over other data',
    async (backend) => {
      const place = await emptyDatabase(backend)
      const outcome = await restoreInto(place)
      expect(outcome).toMatchObject({ ok: true, behind: [], marks: 1, records: { crl: 4, 'evidence entry': 6 } })
      const restored = await startOn(place, await copyMark())
      try {
        expect(await read(restored)).toEqual(served)
        expect(accepted(await restored.as('standard')('GET', '/admin/evidence/verify'))['verified']).toBe(true)
        const events = await restored.core.database.read.selectFrom('audit_events').select('event_id').execute()
        accepted(await restored.as('privileged')('POST', '/admin/policy', { policy_id: `on-${backend}` }), 201)
        expect(events.length).toBe(manifest.tables['audit_events'])
        if (backend === 'sqlite') {
          const numbered = await restored.core.database.read.selectFrom('audit_numbers').select('event_id').execute()
          expect(numbered.length).toBeGreaterThan(events.length)
        }
      } finally {
        await restored.stop()
      }
      expect(await restoreInto(place)).toMatchObject({ ok: false, code: 'target_not_empty' })
      expect(await restoreInto(place, { restart: true })).toMatchObject({ ok: false, code: 'target_not_empty' })
    },
  )

  it.each<[Backend]>([['sqlite'], ['postgres']])(
    'restored into %s admits no second node with an invite that was used after it, although the mark is not ahead',
    async (backend) => {
      const invite = await createInvite(na)
      const from = join(folder, `before-a-join-${backend}`)
      expect((await commands.backup({ ...QUIET, envFile: await envFor(life), to: from })).ok).toBe(true)
      const nodeOf = async ({ url, core }: TestAuthority, seed: string) =>
        nodeCaller(url, await testSigner(seed, seed), () => core.clock.now())
      accepted(await (await nodeOf(na, `first-${backend}`)).join(invite), 201)
      const place = await emptyDatabase(backend)
      expect(await restoreInto(place, { from })).toMatchObject({ ok: true, behind: [] })
      const restored = await startOn(place, await copyMark())
      try {
        const second = await nodeOf(restored, `second-${backend}`)
        refused(await second.join(invite), 403, 'invalid_invite_token')
        accepted(await second.join(await createInvite(restored)), 201)
      } finally {
        await restored.stop()
      }
    },
  )

  it.each<[string, (at: string) => Promise<void>]>([
    ['whose database was appended to', (at) => appendFile(join(at, 'database.sqlite'), 'x')],
    ['whose database was cut', async (at) => writeFile(join(at, 'database.sqlite'), 'SQLite format 3')],
    ['whose genesis block is another', (at) => writeFile(join(at, 'genesis.json'), '{}')],
    ['whose database is gone', (at) => rm(join(at, 'database.sqlite'))],
    ['without a manifest', (at) => rm(join(at, 'manifest.json'))],
    [
      'whose manifest was edited',
      async (at) => {
        const path = join(at, 'manifest.json')
        await writeFile(path, (await readFile(path, 'utf8')).replace('"issued_certs":3', '"issued_certs":4'))
      },
    ],
  ])('%s is not restored, and leaves nothing', async (_what, damage) => {
    const damaged = await mkdtemp(join(folder, 'spoilt-'))
    await cp(backup, damaged, { recursive: true })
    await damage(damaged)
    const place = await emptyDatabase()
    expect(await restoreInto(place, { from: damaged })).toMatchObject({ ok: false, code: 'backup_unusable' })
    // Still empty: a valid backup can be restored.
    expect(await restoreInto(place)).toMatchObject({ ok: true })
  })

  it('is not restored where later revocations could not be detected', async () => {
    const place = await emptyDatabase()
    const envFile = await envFor(place, join(folder, 'nowhere.mark'))
    const args = { ...QUIET, envFile, from: backup, restart: false }
    expect(await commands.restore({ ...args, withoutMark: false })).toMatchObject({ ok: false, code: 'mark_missing' })
    expect(await commands.restore({ ...args, withoutMark: true })).toMatchObject({ ok: true, marks: 0 })
  })

  it.each<[Backend]>([['sqlite'], ['postgres']])(
    'that was restored into %s incompletely cannot be used, and is completed only on the operator’s request',
    async (backend) => {
      const place = await emptyDatabase(backend)
      const [envFile, marks] = [await envFor(place), await copyMark()]
      const args = { flags: {}, envFile, from: backup, withoutMark: false }
      const interrupt = ({ step }: { readonly step: string }): void => {
        if (step === 'verifying') throw new Error('interrupted')
      }
      await expect(commands.restore({ ...args, restart: false, onProgress: interrupt })).rejects.toThrow('interrupted')
      if (backend === 'postgres') {
        await expect(startOn(place, marks)).rejects.toThrow(UnfinishedCopyError)
        expect(await restoreInto(place)).toMatchObject({ ok: false, code: 'copy_unfinished' })
      } else expect((await readdir(dirname(place.settings['DB_PATH'] ?? ''))).sort()).toEqual([])
      expect(await restoreInto(place, { restart: backend === 'postgres' })).toMatchObject({ ok: true })
      await (await startOn(place, marks)).stop()
    },
  )

  it('is not restored into a database that instances are connected to', async () => {
    const place = await emptyDatabase('postgres')
    const instance = openDatabase({ kind: 'postgres', url: place.settings['DATABASE_URL'] ?? '' })
    await sql`select 1`.execute(instance.read)
    expect(await restoreInto(place)).toMatchObject({ ok: false, code: 'instances_running' })
    await instance.close()
    expect(await restoreInto(place)).toMatchObject({ ok: true })
  })

  it('is not served by a running instance during the restore', async () => {
    const copying = na.core.database.engine === 'postgres'
    if (copying) await sql`create table unfinished_copy (token text, started_at text)`.execute(rowsOf(na.core.database))
    await na.core.rollback.recheck()
    expect(na.core.rollback.isHalted()).toBe(copying)
    if (copying) await sql`drop table unfinished_copy`.execute(rowsOf(na.core.database))
    await na.core.rollback.recheck()
    expect(na.core.rollback.isHalted()).toBe(false)
  })

  it('is rehearsed, and the rehearsal leaves nothing', async () => {
    const before = await listRehearsals()
    const envFile = await envFor(life)
    for (const args of [{ from: backup, onSqlite: false }, { onSqlite: false }, { from: backup, onSqlite: true }]) {
      const outcome = await commands.rehearse({ ...QUIET, envFile, ...args })
      expect(outcome).toMatchObject({
        ok: true,
        behind: [],
        marks: 1,
        engine: args.onSqlite ? 'sqlite' : currentBackend(),
        records: { crl: 4, 'evidence entry': 6 },
      })
    }
    expect(await listRehearsals()).toEqual(before)
  })

  it('of an earlier release is taken unchanged, and migrated where it is restored', async () => {
    const old = await emptyDatabase()
    const { DB_PATH: path, DATABASE_URL: url } = old.settings
    const database = openDatabase(path === undefined ? { kind: 'postgres', url: url ?? '' } : { kind: 'sqlite', path })
    const before = EXPECTED_SCHEMA_VERSION - 1
    await migrate(database, () => na.core.clock.now(), { upTo: before })
    const identity = { id: 1, network_name: 'TEST-NET', public_key: na.genesis.network_authority.public_key }
    await rowsOf(database)
      .insertInto('authority_identity')
      .values({ ...identity, created_at: '2026' })
      .execute()
    const policy = await na.core.database.read.selectFrom('policy_versions').selectAll().execute()
    await rowsOf(database).insertInto('policy_versions').values(policy).execute()
    const envFile = await envFor(old, join(folder, 'old.mark'))
    for (const onSqlite of [false, true]) {
      const outcome = await commands.rehearse({ ...QUIET, envFile, onSqlite })
      expect(outcome).toMatchObject({
        ok: true,
        manifest: { schema_version: before, tables: { policy_versions: policy.length } },
        schemaVersion: EXPECTED_SCHEMA_VERSION,
        records: { policy: policy.length },
      })
    }
    expect(await readSchemaVersion(rowsOf(database))).toBe(before)
    await database.close()
  })

  it.each<[Backend]>([['sqlite'], ['postgres']])(
    'has no admission rule in force when restored into %s',
    async (backend) => {
      const rule_id = `rule-${backend}`
      const source = await emptyDatabase()
      const ownMark = join(folder, `${rule_id}.mark`)
      const other = await startOn(source, ownMark)
      try {
        accepted(await other.as('privileged')('POST', '/admin/admission-rules', ruleTerms(rule_id)), 201)
      } finally {
        await other.stop()
      }
      const from = join(folder, `rules-${backend}`)
      const taken = await commands.backup({ ...QUIET, envFile: await envFor(source, ownMark), to: from })
      expect(taken).toMatchObject({ ok: true })
      const place = await emptyDatabase(backend)
      const args = { ...QUIET, envFile: await envFor(place, ownMark), from, restart: false, withoutMark: false }
      expect(await commands.restore(args)).toMatchObject({ ok: true, behind: [], endedRules: [rule_id] })
      const { DB_PATH: path, DATABASE_URL: url } = place.settings
      const restored = openDatabase(
        path === undefined ? { kind: 'postgres', url: url ?? '' } : { kind: 'sqlite', path },
      )
      try {
        const [row] = await rowsOf(restored).selectFrom('admission_rules').selectAll().execute()
        expect(row).toMatchObject({ rule_id, status: 'removed', removal_reason: 'restored from a backup' })
        expect(JSON.parse(row?.rule_json ?? '')).toMatchObject({ signatures: [] })
      } finally {
        await restored.close()
      }
    },
  )

  it('that is older than the mark is restored, and refuses all requests until it is recovered', async () => {
    const node = nodeCaller(na.url, await testSigner('late', 'late'), () => na.core.clock.now())
    const { cert_id } = await enroll(na, node)
    const revoked = accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    await na.core.rollback.writeMark()
    const place = await emptyDatabase()
    const outcome = await restoreInto(place)
    expect(outcome).toMatchObject({ ok: true, marks: 1 })
    expect(outcome.ok && outcome.behind).toEqual(expect.arrayContaining(['crl', 'revoked_certificates']))
    const marks = await copyMark()
    const restored = await startOn(place, marks)
    try {
      refused(await restored.request('GET', '/crl'), 503, 'service_unavailable')
      expect(await commands.recover({ flags: {}, envFile: await envFor(place, marks) })).toBe(0)
      await restored.core.rollback.recheck()
      const list = accepted(await restored.request('GET', '/crl'))
      expect(list['sequence']).toBe(Number(revoked['crl_sequence']) + 100)
      const listed = (list['revoked_certificates'] as JsonObject[]).map((entry) => entry['certificate_id'])
      expect(listed).toContain(cert_id)
    } finally {
      await restored.stop()
    }
  })
})

async function listRehearsals(): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: SERVER })
  await client.connect()
  const { rows } = await client.query<{ datname: string }>('select datname from pg_database')
  await client.end()
  const files = (await readdir(tmpdir())).filter((name) => name.startsWith('chancery-rehearsal-'))
  return [...rows.map((row) => row.datname).filter((name) => name.startsWith('chancery_rehearsal_')), ...files]
}
