import { randomUUID } from 'node:crypto'
import { type JoinCertificate, type JsonObject, instantOf, writeInstant, writeSortable } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  eventsOf,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adoptUnknown } from '../../recovery/resolve-unknown.ts'
import { findUnknown } from '../../recovery/unknown.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { MAX_PRESENTED } from './present.ts'
import { countWaiting, listPresented, removePresented } from './queries/presented.ts'

const clock = new ManualClock()
let na: TestAuthority
let node: NodeCaller
let certificate: JoinCertificate

beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

/** As after a restore from a backup that is older than the join. */
async function forget({ cert_id }: JoinCertificate): Promise<void> {
  const db = rowsOf(na.core.database)
  await db.deleteFrom('node_liveness').where('cert_id', '=', cert_id).execute()
  await db.deleteFrom('issued_certs').where('cert_id', '=', cert_id).execute()
}

function present(given: JsonObject, members: JsonObject = {}, from = node): Promise<TestResponse> {
  const audience = na.genesis.network_authority.public_key
  return from.post('/present', { certificate: given, audience, action: 'present', ...members })
}

const waiting = () => countWaiting(na.core.database.read, writeSortable(clock.now()), 1000)
const listed = () => listPresented(na.core.database.read, writeSortable(clock.now()))
const revoke = (cert_id: string, reason: string): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/revoke', { cert_id, reason })

beforeEach(async () => {
  await rowsOf(na.core.database).deleteFrom('presented_certs').execute()
  node = await newNodeCaller(na.url, 'present', clock)
  certificate = await enroll(na, node, { max_validity_hours: 10 }, { validity_hours: 10 })
})

describe('POST /present', () => {
  it('stores a certificate that the database lacks, once, with its event; it grants nothing', async () => {
    await forget(certificate)
    const answer = await present({ ...certificate })
    expect(accepted(answer)).toMatchObject({ cert_id: certificate.cert_id, state: 'waiting' })
    const [event] = await eventsOf(na, answer)
    expect(event).toMatchObject({ event_type: 'certificate_presented' })
    expect(detailsOf(event)).toMatchObject({ cert_id: certificate.cert_id, node_public_key: node.key })
    const again = await present({ ...certificate })
    expect(accepted(again)).toMatchObject({ state: 'waiting' })
    expect(await eventsOf(na, again)).toEqual([])
    expect(await waiting()).toBe(1)
    refused(await node.heartbeat(certificate.cert_id), 403, 'certificate_not_found')
    refused(await node.renew(certificate.cert_id), 403, 'certificate_not_found')
  })

  it('is the source of an adoption, after which the node goes on', async () => {
    await forget(certificate)
    accepted(await present({ ...certificate }))
    const report = await findUnknown(na.parts, { events: [], certificates: await listed() })
    expect(await adoptUnknown(na.parts, report.certificates)).toEqual({ adopted: 1, barred: 0 })
    accepted(await node.heartbeat(certificate.cert_id))
    expect(await waiting()).toBe(0)
    expect(accepted(await present({ ...certificate }))).toMatchObject({ state: 'known' })
    await na.core.database.write((tx) => removePresented(tx, writeSortable(clock.now())))
    expect(await rowsOf(na.core.database).selectFrom('presented_certs').selectAll().execute()).toEqual([])
  })

  it('stores nothing of a certificate that the database has', async () => {
    expect(accepted(await present({ ...certificate }))).toMatchObject({ state: 'known' })
    expect(await waiting()).toBe(0)
  })

  it('stores nothing of another key, another network, a changed or an expired certificate', async () => {
    await forget(certificate)
    const thief = await newNodeCaller(na.url, 'thief', clock)
    refused(await present({ ...certificate }, {}, thief), 403, 'certificate_key_mismatch')
    refused(await present({ ...certificate, roles: ['role:service'] }), 403, 'certificate_not_found')
    refused(await present({ ...certificate, network_name: 'OTHER-NET' }), 403, 'certificate_not_found')
    refused(await present({ ...certificate, extra: 1 }), 400, 'invalid_input')
    refused(await present({}), 400, 'invalid_input')
    clock.advance(10 * 3600)
    refused(await present({ ...certificate }), 403, 'certificate_expired')
    expect(await waiting()).toBe(0)
  })

  it('stores nothing that was revoked, by its row, the list or a certificate of its key', async () => {
    const later = await enroll(na, node, { max_validity_hours: 10 }, { validity_hours: 10 })
    accepted(await revoke(later.cert_id, 'cessation_of_operation'), 200)
    refused(await present({ ...later }), 403, 'certificate_revoked')
    await forget(certificate)
    // The revocation of the key ended this certificate, too.
    refused(await present({ ...certificate }), 403, 'certificate_revoked')
    const other = await newNodeCaller(na.url, 'present', clock)
    const [one, two] = [await enroll(na, other), await enroll(na, other)]
    await forget(one)
    accepted(await revoke(two.cert_id, 'key_compromise'), 200)
    refused(await present({ ...one }, {}, other), 403, 'node_key_compromised')
    expect(await waiting()).toBe(0)
  })

  it('is not listed for adoption when its key is revoked after it was presented', async () => {
    const later = await enroll(na, node, { max_validity_hours: 10 }, { validity_hours: 10 })
    await forget(certificate)
    accepted(await present({ ...certificate }))
    accepted(await revoke(later.cert_id, 'cessation_of_operation'), 200)
    expect(await listed()).toEqual([])
  })

  it('takes a proof once, and only one that names this authority and this action', async () => {
    await forget(certificate)
    const proof = { nonce: randomUUID(), timestamp: writeInstant(clock.now()) }
    accepted(await present({ ...certificate }, proof))
    refused(await present({ ...certificate }, proof), 401, 'node_auth_failed')
    refused(await present({ ...certificate }, { action: 'renew' }), 401, 'node_auth_failed')
    refused(await present({ ...certificate }, { audience: node.key }), 401, 'node_auth_failed')
    refused(await node.post('/present', { certificate: { ...certificate } }), 401, 'node_auth_failed')
  })

  it('stores a share for each address, and no more', async () => {
    await forget(certificate)
    const source = (await storedSource()) ?? ''
    expect(source).not.toBe('')
    const row = { node_public_key: node.key, cert_json: '{}', presented_at: '', expires_at: '', source }
    const rows = Array.from({ length: 1000 }, (_, index) => ({ ...row, cert_id: `row-${index}` }))
    for (let at = 0; at < MAX_PRESENTED; at += 1000)
      await rowsOf(na.core.database)
        .insertInto('presented_certs')
        .values(rows.map((each) => ({ ...each, cert_id: `${each.cert_id}-${at}` })))
        .execute()
    refused(await present({ ...certificate }), 429, 'rate_limit_exceeded')
    await rowsOf(na.core.database).deleteFrom('presented_certs').where('cert_id', '=', 'row-0-0').execute()
    accepted(await present({ ...certificate }))
  })

  it('is removed after its end', async () => {
    await forget(certificate)
    accepted(await present({ ...certificate }))
    const remove = (before: bigint): Promise<number> =>
      na.core.database.write((tx) => removePresented(tx, writeSortable(before)))
    const end = instantOf(certificate.expires_at)
    expect(await remove(end)).toBe(0)
    expect(await remove(end + 1n)).toBe(1)
    expect(await rowsOf(na.core.database).selectFrom('presented_certs').selectAll().execute()).toEqual([])
  })
})

/** How the limits count the address of this test. */
async function storedSource(): Promise<string | undefined> {
  accepted(await present({ ...certificate }))
  const db = rowsOf(na.core.database)
  const row = await db.selectFrom('presented_certs').select('source').executeTakeFirst()
  await db.deleteFrom('presented_certs').execute()
  return row?.source
}
