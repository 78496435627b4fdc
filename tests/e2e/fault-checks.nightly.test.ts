import { setTimeout as pause } from 'node:timers/promises'
import { type AuthorityProcess, type TestDatabase, createTestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkPromises } from '../campaigns/faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../campaigns/faults/fault-instances.ts'
import { FaultRecorder } from '../campaigns/faults/fault-recorder.ts'
import { seededRandom } from '../campaigns/lib/random.ts'
import { type Rows, openRows, text } from '../campaigns/lib/rows.ts'

/** The tables that a test may damage; each is restored after the test. */
const TABLES = [
  'nonces',
  'issued_certs',
  'invite_tokens',
  'crl_versions',
  'crl_entries',
  'policy_versions',
  'membership_attestations',
  'own_revocation_feeds',
  'evidence_entries',
  'evidence_head',
  'audit_events',
]
const ONE_ACTIVE = 'create unique index policy_versions_one_active on policy_versions (active) where active = 1'

/** A campaign that finds nothing proves something only if its checks find what is wrong. */
describe('the checks after a fault', () => {
  let database: TestDatabase
  let instances: FaultInstances
  let recorder: FaultRecorder
  let rows: Rows
  const one = async (statement: string, column = 'id'): Promise<string> =>
    text((await rows.query(`${statement} limit 1`))[0], column)
  const first = (ids: Iterable<string>): string => [...ids][0] ?? ''

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    const url = database.settings['DATABASE_URL'] ?? ''
    // The server of the tests need not be durable.
    instances = await openFaultInstances({ databaseUrl: () => url, instances: 2, settings: { NA_HA_MODE: 'off' } })
    recorder = new FaultRecorder(instances, seededRandom(11))
    await recorder.open()
    recorder.start()
    const isWhole = (): boolean =>
      Math.min(
        recorder.spent.length,
        recorder.withdrawn.size,
        recorder.decisions.size,
        recorder.policies.size,
        recorder.acks.revocations.size,
        recorder.acks.certificates.size,
      ) > 2
    for (let turn = 0; turn < 400 && !isWhole(); turn += 1) await pause(50)
    await recorder.stop()
    rows = await openRows(database)
    await rows.query('create schema saved')
    for (const table of TABLES) await rows.query(`create table saved.${table} as select * from ${table}`)
  }, 120_000)
  afterAll(async () => {
    await rows.close()
    await instances.close()
    await database.drop()
  })

  const plant = async (statement: string): Promise<void> => {
    // What the database itself refuses is taken away as well: the checks must not lean on it.
    for (const table of TABLES) await rows.query(`alter table ${table} disable trigger user`)
    await rows.query('drop index policy_versions_one_active')
    for (const part of statement.split(';')) await rows.query(part)
  }
  const putBack = async (): Promise<void> => {
    // In one transaction: a job that finds an empty table would fill it.
    await rows.query('begin')
    for (const table of TABLES) {
      await rows.query(`delete from ${table}`)
      await rows.query(`insert into ${table} select * from saved.${table}`)
      await rows.query(`alter table ${table} enable trigger user`)
    }
    await rows.query('commit')
    await rows.query(ONE_ACTIVE)
  }

  it('find nothing wrong where nothing is', async () => {
    expect(await checkPromises(instances, recorder, rows)).toEqual([])
  })

  const LAST_LIST = '(select max(sequence) from crl_versions)'
  const LAST_FEED = '(select max(sequence) from own_revocation_feeds)'
  const revoked = (): string => first(recorder.acks.revocations.keys())
  it.each<[string, () => string | Promise<string>, RegExp]>([
    ['a deleted spent nonce', () => 'delete from nonces', /answered 200 to the spent nonce/],
    [
      'an acknowledged certificate lost',
      () => `delete from issued_certs where cert_id = '${first(recorder.acks.certificates.keys())}'`,
      /^acknowledged certificate \S+ is gone$/,
    ],
    [
      'a certificate that is not what was answered',
      () =>
        `update issued_certs set cert_json = cert_json || ' ' where cert_id = '${first(recorder.acks.certificates.keys())}'`,
      /^certificate \S+ is not what was answered$/,
    ],
    [
      'a certificate un-revoked',
      () =>
        `update issued_certs set status = 'issued', revoked_at = null, revocation_reason = null where cert_id = '${revoked()}'`,
      /^acknowledged revocation of \S+ is gone$/,
    ],
    ['an invite lost', () => 'delete from invite_tokens', /^acknowledged invite \S+ is gone$/],
    [
      'a spent invite that is free again',
      () => 'update invite_tokens set used_at = null, used_by_key = null',
      /^invite \S+: unused with 1 certificates$/,
    ],
    [
      'the last list lost',
      () => `delete from crl_versions where sequence = ${LAST_LIST}`,
      /^list \d+ was told and is gone$/,
    ],
    ['a gap in the lists', () => `delete from crl_versions where sequence = ${LAST_LIST} - 1`, /crl \d+: follows/],
    [
      'a number of a list used twice',
      () =>
        `update crl_versions set crl_json = (select crl_json from saved.crl_versions where sequence = ${LAST_LIST} - 1) where sequence = ${LAST_LIST}`,
      /crl \d+: says another number/,
    ],
    [
      'a list that takes a revocation back',
      () =>
        `update crl_versions set crl_json = replace(crl_json, '${revoked()}', 'somebody-else') where sequence = ${LAST_LIST}`,
      /crl \d+: no longer names/,
    ],
    [
      'a revocation that is not on the list',
      () => `delete from crl_entries where cert_id = '${revoked()}'`,
      /^verify-db: crl: the revoked certificate \S+ is not on the last list$/,
    ],
    [
      'a number of a feed used twice',
      () =>
        `update own_revocation_feeds set feed_json = (select feed_json from saved.own_revocation_feeds where sequence = ${LAST_FEED} - 1) where sequence = ${LAST_FEED}`,
      /feed \d+: says another number/,
    ],
    [
      'a withdrawn attestation in force',
      () =>
        `update membership_attestations set status = 'active', revoked_at = null, revocation_reason = null where attestation_id = '${first(recorder.withdrawn)}'`,
      /^acknowledged withdrawal of attestation \S+ is gone$/,
    ],
    [
      'an attestation lost',
      () => `delete from membership_attestations where attestation_id = '${first(recorder.attestations)}'`,
      /^acknowledged attestation \S+ is gone$/,
    ],
    [
      'a policy lost',
      () => `delete from policy_versions where policy_id = '${first(recorder.policies)}'`,
      /^acknowledged policy \S+ is gone$/,
    ],
    [
      'two versions of a policy in force',
      () => 'update policy_versions set active = 1',
      /policy: \d+ versions are active/,
    ],
    [
      'a decision lost',
      () => `delete from evidence_entries where decision_id = '${first(recorder.decisions)}'`,
      /^acknowledged decision \S+ is gone$/,
    ],
    [
      'a forked chain',
      async () => {
        const at = await one('select max(store_sequence) - 1 as id from evidence_entries')
        return `update evidence_entries set line = replace(line, '"outcome":"allow"', '"outcome":"deny"'), entry_digest = repeat('0', 64) where store_sequence = ${at}`
      },
      /^verify-db: evidence \d+:/,
    ],
    [
      'a revocation without its event',
      () => "delete from audit_events where event_type = 'certificate_revoked'",
      /^certificate \S+: revoked, its events differ$/,
    ],
  ])('name %s', async (_what, statement, sentence) => {
    await plant(await statement())
    try {
      expect(await checkPromises(instances, recorder, rows)).toEqual(
        expect.arrayContaining([expect.stringMatching(sentence)]),
      )
    } finally {
      await putBack()
    }
  })

  it('name what was certainly refused and is there', async () => {
    const id = first(recorder.policies)
    recorder.refusedPolicies.add(id)
    expect(await checkPromises(instances, recorder, rows)).toContain(
      `policy ${id} was refused for certain, and is there`,
    )
    recorder.refusedPolicies.delete(id)
  })

  it('name two contents under one number, and instances that show different lists', async () => {
    const [honest, other] = instances.processes
    if (honest === undefined || other === undefined) throw new Error('two instances were started')
    const list = await honest.request('GET', '/crl')
    recorder.notes.list(list)
    recorder.notes.list({ ...list, text: list.text.replace('"revoked_certificates":[', '"revoked_certificates":[ ') })
    const forked: AuthorityProcess = {
      ...other,
      request: async (...call) => {
        const answer = await other.request(...call)
        return { ...answer, text: `${answer.text} ` }
      },
    }
    const found = await checkPromises({ ...instances, processes: [honest, forked] }, recorder, rows)
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^list \d+: two contents$/),
        '/crl: 200, 200, 2 contents',
        '/sovereign-revocation-feed: 200, 200, 2 contents',
        '/policy: 200, 200, 2 contents',
      ]),
    )
  })

  it('find nothing wrong when everything was put back', async () => {
    expect(await instances.awaitReady(70)).toEqual([])
    recorder.notes.violations.splice(0)
    expect(await checkPromises(instances, recorder, rows)).toEqual([])
  }, 90_000)
})
