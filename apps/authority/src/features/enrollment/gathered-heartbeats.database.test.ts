import { writeInstant, writeSortable } from '@chancery/protocol'
import { newestMarks, silentLog } from '@chancery/service-kit'
import {
  ManualClock,
  accepted,
  createTestDatabase,
  enroll,
  eventsOf,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../database/database.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { openEnrollmentBatches } from './batches.ts'
import { GatheredHeartbeats } from './gathered-heartbeats.ts'

const clock = new ManualClock()
const SETTINGS = { NA_HEARTBEAT_MODE: 'gathered' }
let database: TestDatabase
let na: TestAuthority
beforeAll(async () => {
  database = await createTestDatabase()
  na = await startTestAuthority({ clock, database, settings: SETTINGS })
})
afterAll(async () => {
  await na.stop()
  await database.drop()
})

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'gathered', clock)
const liveness = (cert_id: string) =>
  na.core.database.read.selectFrom('node_liveness').selectAll().where('cert_id', '=', cert_id).executeTakeFirst()
const markOf = async (cert_id: string): Promise<number> => Number((await liveness(cert_id))?.signed_at ?? 0)

/** A node with a certificate whose next heartbeats have newer times than its join. */
async function newMember(): Promise<{ node: NodeCaller; cert_id: string }> {
  const node = await newNode()
  const { cert_id } = await enroll(na, node)
  clock.advance(1)
  return { node, cert_id }
}

const beat = (body: Parameters<TestAuthority['request']>[2]) => na.request('POST', '/heartbeat', body)

describe('POST /heartbeat with NA_HEARTBEAT_MODE=gathered', () => {
  it('acknowledges, stores liveness and the signed time within a second, and writes no nonce', async () => {
    const { node, cert_id } = await newMember()
    const before = await rowsOf(na.core.database).selectFrom('nonces').selectAll().execute()
    const answer = accepted(await node.heartbeat(cert_id, { status: 'healthy' }, { from: '127.3.0.9' }))
    expect(answer).toMatchObject({
      ack: true,
      server_time: writeInstant(clock.now()),
      crl_sequence: expect.any(Number),
    })
    await expect.poll(() => markOf(cert_id)).toBe(Number(clock.now()))
    expect(await liveness(cert_id)).toMatchObject({
      last_heartbeat: writeSortable(clock.now()),
      heartbeat_status: 'healthy',
      remote_addr: '127.3.0.9',
      silent_since: null,
    })
    expect(await rowsOf(na.core.database).selectFrom('nonces').selectAll().execute()).toEqual(before)
  })

  it('refuses a replay before and after the row is stored, with the code and event of a spent nonce', async () => {
    const { node, cert_id } = await newMember()
    const body = await node.prove({ cert_id })
    accepted(await beat({ body }))
    const early = await beat({ body })
    refused(early, 401, 'node_auth_failed')
    expect(await eventsOf(na, early)).toMatchObject([{ details: { reason: 'nonce_replay', scope: 'heartbeat' } }])
    await expect.poll(() => markOf(cert_id)).toBe(Number(clock.now()))
    refused(await beat({ body }), 401, 'node_auth_failed')
  })

  it('refuses another nonce with the same or an older time, and accepts a newer time', async () => {
    const { node, cert_id } = await newMember()
    const timestamp = writeInstant(clock.now())
    accepted(await node.heartbeat(cert_id, { timestamp }))
    refused(await node.heartbeat(cert_id, { timestamp }), 401, 'node_auth_failed')
    refused(await node.heartbeat(cert_id, { timestamp: writeInstant(clock.now() - 1n) }), 401, 'node_auth_failed')
    accepted(await node.heartbeat(cert_id, { timestamp: writeInstant(clock.now() + 1n) }))
  })

  it('accepts exactly one of many callers that send the same signed call', async () => {
    const { node, cert_id } = await newMember()
    const body = await node.prove({ cert_id })
    const answers = await Promise.all(Array.from({ length: 20 }, () => beat({ body })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 200) refused(answer, 401, 'node_auth_failed')
  })

  it('does not let another key hold up the heartbeats of a certificate', async () => {
    const { node, cert_id } = await newMember()
    const other = await newNode()
    const ahead = { timestamp: writeInstant(clock.now() + 200_000_000n) }
    const [foreign, own] = await Promise.all([other.heartbeat(cert_id, ahead), node.heartbeat(cert_id)])
    refused(foreign, 403, 'certificate_key_mismatch')
    accepted(own)
  })

  it('refuses at once after a revocation, and a row under way does not come back', async () => {
    const { node, cert_id } = await newMember()
    accepted(await node.heartbeat(cert_id))
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    clock.advance(1)
    refused(await node.heartbeat(cert_id), 403, 'certificate_revoked')
    const witness = await newMember()
    accepted(await witness.node.heartbeat(witness.cert_id))
    // Rows are stored in the order of acknowledgement, so the earlier one was, too.
    await expect.poll(() => markOf(witness.cert_id)).toBeGreaterThan(0)
    expect(await liveness(cert_id)).toBeUndefined()
  })

  it('refuses unknown, superseded and expired certificates', async () => {
    const { node, cert_id } = await newMember()
    refused(await node.heartbeat('00000000-0000-4000-8000-000000000000'), 403, 'certificate_not_found')
    const set = (columns: { revoke_after?: string; expires_at?: string }) =>
      rowsOf(na.core.database).updateTable('issued_certs').set(columns).where('cert_id', '=', cert_id).execute()
    await set({ revoke_after: writeSortable(clock.now()) })
    refused(await node.heartbeat(cert_id), 403, 'certificate_superseded')
    await set({ revoke_after: writeSortable(clock.now() + 1n) })
    accepted(await node.heartbeat(cert_id))
    clock.advance(1)
    await rowsOf(na.core.database)
      .updateTable('issued_certs')
      .set({ revoke_after: null, expires_at: writeSortable(clock.now()) })
      .where('cert_id', '=', cert_id)
      .execute()
    refused(await node.heartbeat(cert_id), 403, 'certificate_expired')
  })

  it('a time that was stored while the clock was a day ahead blocks nothing, and makes no node active', async () => {
    const { node, cert_id } = await newMember()
    const ahead = clock.now() + 86_400_000_000n
    await rowsOf(na.core.database)
      .updateTable('node_liveness')
      .set({ signed_at: Number(ahead), last_heartbeat: writeSortable(ahead) })
      .where('cert_id', '=', cert_id)
      .execute()
    const body = await node.prove({ cert_id })
    accepted(await beat({ body }))
    await expect.poll(() => markOf(cert_id)).toBe(Number(clock.now()))
    expect((await liveness(cert_id))?.last_heartbeat).toBe(writeSortable(clock.now()))
    refused(await beat({ body }), 401, 'node_auth_failed')
    // What a node with a clock that is ahead may sign still counts.
    clock.advance(1)
    accepted(await node.heartbeat(cert_id, { timestamp: writeInstant(clock.now() + 299_000_000n) }))
    refused(await node.heartbeat(cert_id), 401, 'node_auth_failed')
  })

  it('stores everything at a stop, and refuses a replay after the restart', async () => {
    const { node, cert_id } = await newMember()
    const body = await node.prove({ cert_id })
    accepted(await beat({ body }))
    await na.stop()
    na = await startTestAuthority({ clock, database, settings: SETTINGS })
    expect(await markOf(cert_id)).toBe(Number(clock.now()))
    refused(await na.request('POST', '/heartbeat', { body }), 401, 'node_auth_failed')
  })
})

/** Counts statements, and fails those that store rows while `isFailing` is set. */
function watched(database: Database) {
  const stored: number[] = []
  const state = { isFailing: false }
  const run: Database['run'] = async (statement, input) => {
    if (statement.name !== 'store-heartbeats') return database.run(statement, input)
    if (state.isFailing) throw new Error('injected')
    const rows = await database.run(statement, input)
    stored.push((input as { rows: readonly unknown[] }).rows.length)
    return rows
  }
  return { database: { run }, stored, state }
}

describe('GatheredHeartbeats', () => {
  const rowOf = ({ node, cert_id }: { node: NodeCaller; cert_id: string }, status: string, signed_at: number) => ({
    cert_id,
    node_public_key: node.key,
    signed_at,
    heartbeat_status: status,
    remote_addr: '192.0.2.1',
    genesis_digest: null,
  })
  const open = (own: ManualClock = clock) => {
    const { database: counted, stored, state } = watched(na.core.database)
    return {
      gathered: new GatheredHeartbeats({ database: counted, clock: own, log: silentLog, claimNewest: undefined }),
      stored,
      state,
    }
  }

  it('of two workers that get the same heartbeat before it is stored, one acknowledges it', async () => {
    const member = await newMember()
    const { database: counted } = watched(na.core.database)
    const marks = newestMarks(clock)['claimNewest'] as (mark: { name: string; value: number }) => boolean
    const claimNewest = async (name: string, value: number): Promise<boolean> => marks({ name, value })
    const workers = [1, 2].map(() => new GatheredHeartbeats({ database: counted, clock, log: silentLog, claimNewest }))
    const at = Number(clock.now())
    const beats = await Promise.all(
      workers.flatMap((worker) => [worker.add(rowOf(member, 'same', at)), worker.add(rowOf(member, 'same', at))]),
    )
    expect(beats.filter(({ recorded }) => recorded)).toHaveLength(1)
    expect(await workers[1]?.add(rowOf(member, 'later', at + 1))).toMatchObject({ recorded: true })
    expect(await workers[0]?.add(rowOf(member, 'same', at))).toMatchObject({ recorded: false })
    for (const worker of workers) await worker.close()
  })

  it('stores many certificates in one statement, and of each the newest row only', async () => {
    const members = [await newMember(), await newMember(), await newMember()]
    const { gathered, stored } = open()
    const at = Number(clock.now())
    for (const later of [0, 1, 2])
      for (const member of members)
        expect(await gathered.add(rowOf(member, `s-${later}`, at + later))).toMatchObject({ recorded: true })
    expect(gathered.unstored).toBe(3)
    await gathered.close()
    expect(stored).toEqual([3])
    for (const { cert_id } of members) {
      expect(await markOf(cert_id)).toBe(at + 2)
      expect(await liveness(cert_id)).toMatchObject({ heartbeat_status: 's-2' })
    }
  })

  it('two processes acknowledge one call twice at most, store it once, and then both refuse it', async () => {
    const member = await newMember()
    const [left, right] = [open().gathered, open().gathered]
    const row = rowOf(member, 'twice', Number(clock.now()))
    expect(await left.add(row)).toMatchObject({ recorded: true })
    expect(await right.add({ ...row, remote_addr: '198.51.100.1' })).toMatchObject({ recorded: true })
    await left.close()
    await right.close()
    expect(await liveness(member.cert_id)).toMatchObject({ remote_addr: '192.0.2.1' })
    for (const { gathered } of [open(), open()]) {
      expect(await gathered.add(row)).toMatchObject({ recorded: false })
      expect(gathered.unstored).toBe(0)
    }
  })

  it('an older row that arrives later changes nothing', async () => {
    const member = await newMember()
    const [early, late] = [open(), open()]
    const at = Number(clock.now())
    await early.gathered.add(rowOf(member, 'early', at))
    await late.gathered.add(rowOf(member, 'late', at + 1))
    await late.gathered.close()
    await early.gathered.close()
    expect(await liveness(member.cert_id)).toMatchObject({ heartbeat_status: 'late' })
    expect(await markOf(member.cert_id)).toBe(at + 1)
  })

  it('stores rows again that could not be stored, and acknowledges nothing while they are too old', async () => {
    const [first, second] = [await newMember(), await newMember()]
    const own = new ManualClock(clock.now())
    const { gathered, state } = open(own)
    const at = Number(clock.now())
    state.isFailing = true
    expect(await gathered.add(rowOf(first, 'kept', at))).toMatchObject({ recorded: true })
    own.advance(2)
    await expect(gathered.add(rowOf(second, 'waits', at))).rejects.toThrow('injected')
    // It was not acknowledged, but it was sent: it is no fresh call any more.
    expect(await gathered.add(rowOf(second, 'again', at))).toMatchObject({ recorded: false })
    state.isFailing = false
    await gathered.close()
    expect(await markOf(first.cert_id)).toBe(at)
    expect(await liveness(first.cert_id)).toMatchObject({ heartbeat_status: 'kept' })
    await expect(gathered.add(rowOf(first, 'late', at + 1))).rejects.toThrow('closed')
  })
})

it('asks for a longer interval while heartbeats fail at once', async () => {
  const own = new ManualClock(clock.now())
  const database = { ...na.core.database, run: () => Promise.reject(new Error('injected')) }
  const batches = openEnrollmentBatches({ ...na.parts, clock: own, database })
  const proof = { nonce: 'nonce', signedAt: own.now() }
  const row = { cert_id: 'cert', node_public_key: 'key', heartbeat_status: 'ok', remote_addr: '', genesis_digest: null }
  await expect(batches.recordHeartbeat({ ...row, proof })).rejects.toThrow('injected')
  own.advance(30)
  await batches.pace.choose(() => Promise.resolve())
  expect(batches.pace.seconds).toBe(90)
  await batches.close()
})
