import { randomBytes, randomUUID } from 'node:crypto'
import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isUsable, recordHeartbeats } from './heartbeats.ts'
import type { CertificateState, HeartbeatOutcome, HeartbeatRow } from './heartbeats.ts'
import type { Tables } from '../../../database/tables.ts'
import { rowsOf } from '../../../testing/rows.suite.ts'

const NOW = '2026-01-02T03:04:05.000000Z'
const BEFORE = '2026-01-02T03:04:04.999999Z'
// Far away: the authority under test purges what its own clock calls expired.
const LATER = '2099-01-03T03:04:05.000000Z'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const db = () => rowsOf(na.core.database)
const record = (...rows: HeartbeatRow[]): Promise<readonly HeartbeatOutcome[]> =>
  recordHeartbeats(na.core.database, rows, NOW)

async function newCertificate(columns: Partial<Tables['issued_certs']> = {}): Promise<HeartbeatRow> {
  const [cert_id, node_public_key] = [randomUUID(), `key-${randomUUID()}`]
  await db()
    .insertInto('issued_certs')
    .values({
      cert_id,
      node_public_key,
      cert_json: '{}',
      roles_json: '[]',
      issued_at: BEFORE,
      expires_at: LATER,
      max_validity_hours: 24,
      status: 'issued',
      renewed_from: null,
      revoke_after: null,
      list_after: null,
      revoked_at: null,
      revocation_reason: null,
      ...columns,
    })
    .execute()
  await db()
    .insertInto('node_liveness')
    .values({
      cert_id,
      node_public_key,
      last_heartbeat: BEFORE,
      heartbeat_status: 'joined',
      genesis_digest: null,
      remote_addr: 'x',
      revoke_after: null,
    })
    .execute()
  return newRow(cert_id, columns.node_public_key ?? node_public_key)
}

function newRow(cert_id: string, node_public_key: string, changes: Partial<HeartbeatRow> = {}): HeartbeatRow {
  const claim = randomBytes(16)
  const liveness = { heartbeat_status: 'fine', genesis_digest: 'ab'.repeat(32), remote_addr: '192.0.2.1' }
  return { cert_id, node_public_key, claim, claim_expires_at: LATER, ...liveness, ...changes }
}

const liveness = (row: HeartbeatRow) =>
  db().selectFrom('node_liveness').selectAll().where('cert_id', '=', row.cert_id).executeTakeFirst()
const isSpent = async (row: HeartbeatRow): Promise<boolean> =>
  (await db().selectFrom('nonces').selectAll().where('claim', '=', row.claim).execute()).length > 0

const stateOf = (outcome: HeartbeatOutcome | undefined): CertificateState | undefined =>
  outcome?.recorded === false ? outcome.certificate : undefined
const storedCertificate = (row: HeartbeatRow) =>
  db().selectFrom('issued_certs').selectAll().where('cert_id', '=', row.cert_id).executeTakeFirstOrThrow()

describe('recordHeartbeats', () => {
  it('writes liveness, spends the nonce and returns the current list versions', async () => {
    const row = await newCertificate()
    await db()
      .insertInto('crl_versions')
      .values({ sequence: 41, crl_json: '{}', issued_at: BEFORE, next_update: LATER, entries: 0 })
      .execute()
    expect(await record(row)).toEqual([{ recorded: true, notices: { crl_sequence: 41, policy_id: null } }])
    expect(await liveness(row)).toEqual({
      cert_id: row.cert_id,
      node_public_key: row.node_public_key,
      last_heartbeat: NOW,
      heartbeat_status: 'fine',
      remote_addr: '192.0.2.1',
      revoke_after: null,
      genesis_digest: 'ab'.repeat(32),
      silent_since: null,
      signed_at: null,
    })
    expect(await isSpent(row)).toBe(true)
  })

  const burnt = `burnt-${randomUUID()}`
  it.each<[string, Partial<Tables['issued_certs']>]>([
    ['revoked', { status: 'revoked' }],
    ['superseded in this instant', { revoke_after: NOW }],
    ['of the next instant', { issued_at: '2026-01-02T03:04:05.000001Z' }],
    ['expired in this instant', { expires_at: NOW }],
    ['of a compromised key', { node_public_key: burnt }],
  ])('neither records nor spends for a certificate that is %s', async (_, columns) => {
    await newCertificate({ node_public_key: burnt, status: 'revoked', revocation_reason: 'key_compromise' })
    const row = await newCertificate(columns)
    const [outcome] = await record(row)
    expect(outcome).toMatchObject({ recorded: false, judgedAt: NOW })
    const { node_public_key, status, issued_at, expires_at, revoke_after } = await storedCertificate(row)
    const compromised = node_public_key === burnt
    expect(stateOf(outcome)).toEqual({ node_public_key, status, issued_at, expires_at, revoke_after, compromised })
    expect(await liveness(row)).toMatchObject({ last_heartbeat: BEFORE, heartbeat_status: 'joined' })
    expect(await isSpent(row)).toBe(false)
  })

  it.each<[string, Partial<Tables['issued_certs']>]>([
    ['superseded in the next instant', { revoke_after: '2026-01-02T03:04:05.000001Z' }],
    ['of this instant', { issued_at: NOW }],
    ['expired in the next instant', { expires_at: '2026-01-02T03:04:05.000001Z' }],
  ])('records for a certificate that is %s', async (_, columns) => {
    expect(await record(await newCertificate(columns))).toMatchObject([{ recorded: true }])
  })

  it('knows nothing of an unknown certificate, and spends nothing for it', async () => {
    const row = newRow('unknown', 'key')
    expect(await record(row)).toMatchObject([{ certificate: undefined, recorded: false }])
    expect(await isSpent(row)).toBe(false)
  })

  it("neither records nor spends under another's key", async () => {
    const own = await newCertificate()
    const foreign = newRow(own.cert_id, 'another node')
    expect(await record(foreign)).toMatchObject([{ recorded: false }])
    expect(await isSpent(foreign)).toBe(false)
    expect(await liveness(own)).toMatchObject({ last_heartbeat: BEFORE })
  })

  it('gives each of a batch its own outcome, in their order', async () => {
    const good = await Promise.all(Array.from({ length: 40 }, () => newCertificate()))
    const bad = await newCertificate({ status: 'revoked' })
    const rows = good.flatMap((row, index) => (index === 20 ? [bad, newRow('unknown', 'key'), row] : [row]))
    const outcomes = await record(...rows)
    expect(outcomes.map((outcome) => outcome.recorded)).toEqual(rows.map((row) => good.includes(row)))
    expect(stateOf(outcomes[20])).toMatchObject({ node_public_key: bad.node_public_key, status: 'revoked' })
    expect(stateOf(outcomes[21])).toBeUndefined()
  })

  it('takes a nonce once: the first of equal ones in a batch, and none later', async () => {
    const row = await newCertificate()
    const outcomes = await record(row, row, row)
    expect(outcomes.map((outcome) => outcome.recorded)).toEqual([true, false, false])
    expect(stateOf(outcomes[2])).toMatchObject({ node_public_key: row.node_public_key, status: 'issued' })
    expect((await record(row)).map((outcome) => outcome.recorded)).toEqual([false])
    const raced = newRow(row.cert_id, row.node_public_key)
    const racers = (await Promise.all(Array.from({ length: 8 }, () => record(raced)))).flat()
    expect(racers.filter((outcome) => outcome.recorded)).toHaveLength(1)
  })

  it('of several heartbeats of one certificate in a batch keeps the last', async () => {
    const first = await newCertificate()
    const second = newRow(first.cert_id, first.node_public_key, { heartbeat_status: 'second' })
    const third = newRow(first.cert_id, first.node_public_key, { heartbeat_status: 'third' })
    expect((await record(first, second, third)).map((outcome) => outcome.recorded)).toEqual([true, true, true])
    expect(await liveness(first)).toMatchObject({ heartbeat_status: 'third' })
  })

  it('keeps nothing of a batch that fails', async () => {
    const good = await newCertificate()
    const broken = { ...(await newCertificate()), heartbeat_status: null as unknown as string }
    await expect(record(good, broken)).rejects.toThrow()
    expect(await isSpent(good)).toBe(false)
    expect(await liveness(good)).toMatchObject({ last_heartbeat: BEFORE })
  })
})

describe('isUsable', () => {
  const usable: CertificateState = {
    node_public_key: 'k',
    status: 'issued',
    issued_at: BEFORE,
    expires_at: LATER,
    revoke_after: null,
    compromised: false,
  }
  it.each<[Partial<CertificateState>, boolean]>([
    [{}, true],
    [{ node_public_key: 'other' }, false],
    [{ status: 'revoked' }, false],
    [{ compromised: true }, false],
    [{ revoke_after: NOW }, false],
    [{ revoke_after: LATER }, true],
    [{ issued_at: NOW }, true],
    [{ issued_at: LATER }, false],
    [{ expires_at: NOW }, false],
  ])('%j is %s', (change, expected) => {
    expect(isUsable({ ...usable, ...change }, 'k', NOW)).toBe(expected)
  })
})
