import { randomBytes, randomUUID } from 'node:crypto'
import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type JoinOutcome, type JoinRow, issueCertificates } from './joins.ts'
import { rowsOf } from '../../../testing/rows.suite.ts'

const NOW = '2026-01-02T03:04:05.000000Z'
// Far away: the authority under test purges what its own clock calls expired.
const LATER = '2099-01-03T03:04:05.000000Z'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const db = () => rowsOf(na.core.database)
const issue = (...rows: JoinRow[]): Promise<readonly JoinOutcome[]> => issueCertificates(na.core.database, rows, NOW)

async function newInvite(columns: { used_at?: string; expires_at?: string } = {}): Promise<string> {
  const token_digest = randomBytes(32).toString('hex')
  await db()
    .insertInto('invite_tokens')
    .values({
      token_digest,
      assigned_roles_json: '["role:client"]',
      max_validity_hours: 24,
      recipient_public_key: null,
      created_at: NOW,
      expires_at: LATER,
      used_at: null,
      used_by_key: null,
      ...columns,
    })
    .execute()
  return token_digest
}

function newRow(token_digest: string, changes: Partial<JoinRow> = {}): JoinRow {
  return {
    token_digest,
    claim: randomBytes(16),
    claim_expires_at: LATER,
    cert_id: randomUUID(),
    node_public_key: `key-${randomUUID()}`,
    cert_json: '{}',
    roles_json: '["role:client"]',
    issued_at: NOW,
    expires_at: LATER,
    max_validity_hours: 24,
    remote_addr: '192.0.2.1',
    event_id: randomUUID(),
    event_json: '{}',
    label: null,
    folded: null,
    ...changes,
  }
}

interface Traces {
  readonly certificate: boolean
  readonly liveness: boolean
  readonly event: boolean
  readonly nonce: boolean
  readonly usedBy: string | null
}

/** What a row left in each table it could have touched. */
async function tracesOf(row: JoinRow): Promise<Traces> {
  const certificate = await db().selectFrom('issued_certs').selectAll().where('cert_id', '=', row.cert_id).execute()
  const liveness = await db().selectFrom('node_liveness').selectAll().where('cert_id', '=', row.cert_id).execute()
  const event = await db().selectFrom('audit_events').selectAll().where('event_id', '=', row.event_id).execute()
  const nonce = await db().selectFrom('nonces').selectAll().where('claim', '=', row.claim).execute()
  const invite = await db()
    .selectFrom('invite_tokens')
    .selectAll()
    .where('token_digest', '=', row.token_digest)
    .executeTakeFirst()
  return {
    certificate: certificate.length === 1,
    liveness: liveness.length === 1,
    event: event.length === 1,
    nonce: nonce.length === 1,
    usedBy: invite?.used_by_key ?? null,
  }
}

const WHOLE = { certificate: true, liveness: true, event: true, nonce: true }
const NOTHING = { certificate: false, liveness: false, event: false }

async function burn(node_public_key: string): Promise<void> {
  const row = newRow(await newInvite(), { node_public_key })
  expect(await issue(row)).toEqual(['issued'])
  await db()
    .updateTable('issued_certs')
    .set({ status: 'revoked', revocation_reason: 'key_compromise' })
    .where('cert_id', '=', row.cert_id)
    .execute()
}

describe('issueCertificates', () => {
  it('keeps certificate, liveness, event and nonce together and spends the invite', async () => {
    const row = newRow(await newInvite())
    expect(await issue(row)).toEqual(['issued'])
    expect(await tracesOf(row)).toEqual({ ...WHOLE, usedBy: row.node_public_key })
    const event = await db()
      .selectFrom('audit_events')
      .select(['event_id', 'event_type', 'event_json', 'created_at'])
      .where('event_id', '=', row.event_id)
      .executeTakeFirst()
    expect(event).toEqual({
      event_id: row.event_id,
      event_type: 'certificate_issued',
      event_json: '{}',
      created_at: NOW,
    })
  })

  it('serves many in one batch, each with its own outcome, in their order', async () => {
    const good = await Promise.all(Array.from({ length: 50 }, async () => newRow(await newInvite())))
    const used = newRow(await newInvite({ used_at: NOW }))
    const unknown = newRow('no such invite')
    const rows = [...good.slice(0, 25), used, ...good.slice(25), unknown]
    const outcomes = await issue(...rows)
    expect(outcomes).toEqual(rows.map((row) => (row === used || row === unknown ? 'invite_spent' : 'issued')))
    for (const row of good) expect(await tracesOf(row)).toMatchObject({ ...WHOLE, usedBy: row.node_public_key })
    for (const row of [used, unknown]) expect(await tracesOf(row)).toMatchObject({ ...NOTHING, nonce: false })
  })

  it('gives one invite to the first of those who ask for it in one batch', async () => {
    const invite = await newInvite()
    const rows = [newRow(invite), newRow(invite), newRow(invite)]
    expect(await issue(...rows)).toEqual(['issued', 'invite_spent', 'invite_spent'])
    const [first, ...others] = await Promise.all(rows.map(tracesOf))
    expect(first).toEqual({ ...WHOLE, usedBy: rows[0]?.node_public_key })
    for (const traces of others) expect(traces).toMatchObject({ ...NOTHING, nonce: false })
  })

  it('gives one invite to exactly one of the batches that race for it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const invite = await newInvite()
      const rows = Array.from({ length: 8 }, () => newRow(invite))
      const outcomes = (await Promise.all(rows.map((row) => issue(row)))).flat()
      expect(outcomes.filter((outcome) => outcome === 'issued')).toHaveLength(1)
      const traces = await Promise.all(rows.map(tracesOf))
      expect(traces.filter((trace) => trace.certificate)).toHaveLength(1)
      expect(traces.filter((trace) => trace.nonce)).toHaveLength(1)
    }
  })

  it('refuses an invite that ended, and takes one in its last instant', async () => {
    const ended = newRow(await newInvite({ expires_at: '2026-01-02T03:04:04.999999Z' }))
    const last = newRow(await newInvite({ expires_at: NOW }))
    expect(await issue(ended, last)).toEqual(['invite_spent', 'issued'])
    expect(await tracesOf(ended)).toEqual({ ...NOTHING, nonce: false, usedBy: null })
  })

  it('refuses a spent nonce and leaves the invite unused', async () => {
    const first = newRow(await newInvite())
    expect(await issue(first)).toEqual(['issued'])
    const replay = newRow(await newInvite(), { claim: first.claim })
    expect(await issue(replay)).toEqual(['nonce_spent'])
    expect(await tracesOf(replay)).toMatchObject({ ...NOTHING, usedBy: null })
  })

  it('of two invites with one nonce in one batch spends one, and leaves bystanders alone', async () => {
    const claim = randomBytes(16)
    const twins = [newRow(await newInvite(), { claim }), newRow(await newInvite(), { claim })]
    const bystanders = [newRow(await newInvite()), newRow(await newInvite())]
    const [twin, other] = twins
    const [before, after] = bystanders
    if (twin === undefined || other === undefined || before === undefined || after === undefined) return
    expect(await issue(before, twin, other, after)).toEqual(['issued', 'issued', 'nonce_spent', 'issued'])
    expect(await tracesOf(twin)).toEqual({ ...WHOLE, usedBy: twin.node_public_key })
    expect(await tracesOf(other)).toMatchObject({ ...NOTHING, usedBy: null })
  })

  it('of two invites with one nonce in racing batches spends one', async () => {
    for (let round = 0; round < 10; round += 1) {
      const claim = randomBytes(16)
      const rows = [newRow(await newInvite(), { claim }), newRow(await newInvite(), { claim })]
      const outcomes = (await Promise.all(rows.map((row) => issue(row)))).flat()
      expect([...outcomes].sort()).toEqual(['issued', 'nonce_spent'])
      const traces = await Promise.all(rows.map(tracesOf))
      expect(traces.filter((trace) => trace.usedBy !== null)).toHaveLength(1)
      expect(traces.filter((trace) => trace.certificate)).toHaveLength(1)
    }
  })

  it('refuses a compromised key, and neither its nonce nor its invite is spent', async () => {
    const node_public_key = `burnt-${randomUUID()}`
    await burn(node_public_key)
    const row = newRow(await newInvite(), { node_public_key })
    const good = newRow(await newInvite())
    expect(await issue(row, good)).toEqual(['key_compromised', 'issued'])
    expect(await tracesOf(row)).toEqual({ ...NOTHING, nonce: false, usedBy: null })
  })

  it('keeps nothing of a batch that fails', async () => {
    const first = newRow(await newInvite())
    // The same event id twice breaks the second insert.
    const second = newRow(await newInvite(), { event_id: first.event_id })
    await expect(issue(first, second)).rejects.toThrow()
    for (const row of [first, second]) expect(await tracesOf(row)).toEqual({ ...NOTHING, nonce: false, usedBy: null })
    expect(await issue(newRow(first.token_digest))).toEqual(['issued'])
  })
})
