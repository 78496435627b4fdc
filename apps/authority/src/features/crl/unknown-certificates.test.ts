import { type Crl, type JsonObject, signList } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createInvite,
  detailsOf,
  enroll,
  entryOf,
  eventsOf,
  fetchCrl,
  newNodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspectStore } from '../evidence/verify-store.ts'
import { inspectDatabase } from '../../recovery/inspect.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'forgotten', clock)
const revoke = (body: JsonObject): Promise<TestResponse> => na.as('privileged')('POST', '/admin/revoke', body)
const list = (): Promise<Crl> => fetchCrl(na.url, na.genesis.network_authority.public_key)

/** Joins, and then removes all rows of the node, as after a restore from an old backup. */
async function missing(): Promise<{ node: NodeCaller; certificate: JsonObject; cert_id: string; key: string }> {
  const node = await newNode()
  const { cert_id } = await enroll(na, node)
  const db = rowsOf(na.core.database)
  const row = await db.selectFrom('issued_certs').selectAll().where('cert_id', '=', cert_id).executeTakeFirstOrThrow()
  await db.deleteFrom('node_liveness').where('cert_id', '=', cert_id).execute()
  await db.deleteFrom('issued_certs').where('cert_id', '=', cert_id).execute()
  return { node, certificate: JSON.parse(row.cert_json) as JsonObject, cert_id, key: row.node_public_key }
}

describe('POST /admin/revoke of a certificate that the database lacks', () => {
  it('by id alone is refused, and by its own text is listed and audited', async () => {
    const { certificate, cert_id } = await missing()
    refused(await revoke({ cert_id }), 404, 'certificate_not_found')
    const body = { certificates: [certificate], reason: 'cessation_of_operation' }
    const foreseen = accepted(await revoke({ ...body, dry_run: true }))
    expect(foreseen['certificates_revoked']).toEqual({ count: 1, sample: [cert_id] })
    refused(await revoke({ cert_id }), 404, 'certificate_not_found')
    const answer = await revoke(body)
    const { crl_sequence } = accepted(answer)
    expect(entryOf(await list(), cert_id)).toMatchObject({ reason: 'cessation_of_operation' })
    const events = (await eventsOf(na, answer)).filter((event) => event['event_type'] === 'certificate_revoked')
    expect(events).toHaveLength(1)
    expect(detailsOf(events[0])).toMatchObject({ cert_id, known_by: 'certificate', key_id: 'op-privileged' })
    expect(detailsOf(events[0])['crl_sequence']).toBe(crl_sequence)
    // Repeating it, by text or by id, changes nothing.
    expect(accepted(await revoke(body))['crl_sequence']).toBe(crl_sequence)
    expect(accepted(await revoke({ cert_id }))['crl_sequence']).toBe(crl_sequence)
  })

  it('by id and key is listed, and a compromised key is barred', async () => {
    const { node, cert_id, key } = await missing()
    const body = { cert_id, node_public_key: key, reason: 'key_compromise' }
    expect(accepted(await revoke({ ...body, dry_run: true }))).toMatchObject({ certificates_revoked: { count: 1 } })
    const answer = await revoke(body)
    accepted(answer)
    expect(entryOf(await list(), cert_id)).toMatchObject({ reason: 'key_compromise' })
    const events = (await eventsOf(na, answer)).filter((event) => event['event_type'] === 'certificate_revoked')
    expect(events).toHaveLength(1)
    expect(detailsOf(events[0])).toMatchObject({ cert_id, known_by: 'id_and_key' })
    refused(await node.join(await createInvite(na)), 403, 'node_key_compromised')
    refused(await node.heartbeat(cert_id), 403, 'certificate_revoked')
  })

  it('also revokes the other certificates of its key on request', async () => {
    const { node, certificate, cert_id } = await missing()
    const { cert_id: later } = await enroll(na, node)
    accepted(await revoke({ certificates: [certificate], all_of_key: true }))
    const crl = await list()
    expect([entryOf(crl, cert_id), entryOf(crl, later)].every((entry) => entry !== undefined)).toBe(true)
  })

  it('leaves a database in which verify-db finds no problem, and a list that continues', async () => {
    const { certificate } = await missing()
    const byKey = await missing()
    accepted(await revoke({ certificates: [certificate] }))
    accepted(await revoke({ cert_id: byKey.cert_id, node_public_key: byKey.key }))
    const keys = na.core.keys.all
    const authority = { sovereign: 'TEST-NET', publicKeys: keys }
    const { problems } = await inspectDatabase(na.core.database.read, authority, inspectStore)
    expect(problems).toEqual([])
    expect(accepted(await na.request('GET', '/readyz'))['warnings']).toBeUndefined()
  })

  it('accepts no certificate of another issuer, and no changed one', async () => {
    const { certificate, cert_id } = await missing()
    const unknownSigner = await testSigner('na', 'stranger')
    const { signatures: _signatures, ...draft } = certificate
    const before = (await list()).sequence
    const wrong = [
      await signList(draft, unknownSigner),
      { ...certificate, roles: ['role:anchor', 'role:operator'] },
      { ...certificate, cert_id: '11111111-2222-4333-8444-555555555555' },
      { ...certificate, signatures: [] },
    ] as unknown as JsonObject[]
    for (const one of wrong) refused(await revoke({ certificates: [one] }), 404, 'certificate_not_found')
    // One of two is refused, so nothing is changed.
    refused(await revoke({ certificates: [certificate, wrong[2] ?? {}] }), 404, 'certificate_not_found')
    refused(await revoke({ cert_id }), 404, 'certificate_not_found')
    expect((await list()).sequence).toBe(before)
  })

  it('accepts one form at a time', async () => {
    const { certificate, cert_id, key } = await missing()
    for (const body of [
      { certificates: [certificate], cert_id },
      { certificates: [certificate], cert_ids: [cert_id] },
      { certificates: [] },
      { certificates: certificate },
      { certificates: [certificate, certificate] },
      { cert_ids: [cert_id], node_public_key: key },
      { node_public_key: key },
    ])
      refused(await revoke(body), 400, 'missing_cert_id')
    refused(await revoke({ certificates: [{ cert_id }] }), 400, 'invalid_input')
    refused(await revoke({ cert_id, node_public_key: 'x' }), 400, 'invalid_public_key')
    const { cert_id: stored } = await enroll(na, await newNode())
    refused(await revoke({ cert_id: stored, node_public_key: key }), 403, 'certificate_key_mismatch')
    refused(
      await na.as('standard')('POST', '/admin/revoke', { certificates: [certificate] }),
      403,
      'insufficient_operator_tier',
    )
  })
})
