import type { Crl, JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  entryOf,
  fetchCrl,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeEach(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'sibling', clock)
const revoke = (body: JsonObject): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/revoke', { reason: 'cessation_of_operation', ...body })
const list = (): Promise<Crl> => fetchCrl(na.url, na.genesis.network_authority.public_key)
const NONE = { count: 0, sample: [] }

/** Two certificates from invites, the successor of the first, one that has expired and one that is revoked. */
async function family(): Promise<{ node: NodeCaller; first: string; living: string[] }> {
  const node = await newNode()
  await enroll(na, node, { max_validity_hours: 1 })
  clock.advance(3601)
  const { cert_id: gone } = await enroll(na, node)
  accepted(await revoke({ cert_id: gone, only_this: true }))
  const [first, second] = [(await enroll(na, node)).cert_id, (await enroll(na, node)).cert_id]
  const renewed = String(accepted(await node.renew(first), 201)['cert_id'])
  return { node, first, living: [second, renewed].sort() }
}

describe('POST /admin/revoke, other certificates of the same key', () => {
  it('end with it: one transaction, one list, the same reason, named by dry run, response and audit log', async () => {
    const { node, first, living } = await family()
    const bystander = await newNode()
    const { cert_id } = await enroll(na, bystander)
    const all = [first, ...living].sort()
    const foreseen = accepted(await revoke({ cert_id: first, dry_run: true }))
    expect(foreseen).toMatchObject({ certificates_revoked: { count: 3, sample: all }, other_certificates: NONE })
    const before = await list()
    expect(accepted(await revoke({ cert_id: first }))).toEqual({
      crl_sequence: before.sequence + 1,
      revoked_count: before.revoked_certificates.length + 3,
      also_revoked: { count: 2, sample: living },
    })
    const crl = await list()
    for (const id of all) {
      expect(entryOf(crl, id)?.reason).toBe('cessation_of_operation')
      refused(await node.heartbeat(id), 403, 'certificate_revoked')
      refused(await node.renew(id), 403, 'certificate_revoked')
    }
    accepted(await bystander.heartbeat(cert_id))
    const events = (await na.auditEvents('certificate_revoked')).map((event) => event['details'] as JsonObject)
    const told = events.filter((event) => all.includes(String(event['cert_id'])))
    expect(new Map(told.map((event) => [event['cert_id'], event['revoked_with']]))).toEqual(
      new Map([[first, undefined], ...living.map((id) => [id, first] as const)]),
    )
    // The key is not barred, because it is not compromised.
    const { cert_id: later } = await enroll(na, node)
    accepted(await node.heartbeat(later))
  })

  it('end with the newest, and with one that its renewal has ended', async () => {
    const node = await newNode()
    const { cert_id: first } = await enroll(na, node)
    const second = String(accepted(await node.renew(first), 201)['cert_id'])
    accepted(await revoke({ cert_id: second, reason: 'superseded' }))
    refused(await node.heartbeat(first), 403, 'certificate_revoked')
    refused(await node.renew(first), 403, 'certificate_revoked')
    const { cert_id: third } = await enroll(na, node)
    const fourth = String(accepted(await node.renew(third), 201)['cert_id'])
    clock.advance(86_400)
    accepted(await revoke({ cert_id: third }))
    refused(await node.heartbeat(fourth), 403, 'certificate_revoked')
  })

  it('stay with only_this, and are named by dry run, response and audit log', async () => {
    const { node, first, living } = await family()
    const others = { count: 2, sample: living }
    const foreseen = accepted(await revoke({ cert_id: first, only_this: true, dry_run: true }))
    expect(foreseen).toMatchObject({ certificates_revoked: { count: 1, sample: [first] }, other_certificates: others })
    const answer = accepted(await revoke({ cert_id: first, only_this: true }))
    expect(answer['other_certificates']).toEqual(others)
    expect(answer).not.toHaveProperty('also_revoked')
    for (const cert_id of living) accepted(await node.heartbeat(cert_id))
    const event = (await na.auditEvents('certificate_revoked')).at(-1)
    expect(event?.['details']).toMatchObject({ cert_id: first, only_this: true })
    // Named again when nothing changes, and none of another key. Releases before had this member.
    await enroll(na, await newNode())
    expect(accepted(await revoke({ cert_id: first, all_of_key: false }))['other_certificates']).toEqual(others)
  })

  it('a predecessor that stayed cannot be renewed again, nor the one before it', async () => {
    const node = await newNode()
    const { cert_id: first } = await enroll(na, node)
    const second = String(accepted(await node.renew(first), 201)['cert_id'])
    const third = String(accepted(await node.renew(second), 201)['cert_id'])
    accepted(await revoke({ cert_id: third, only_this: true }))
    for (const id of [first, second]) {
      accepted(await node.heartbeat(id))
      refused(await node.renew(id), 403, 'certificate_revoked')
    }
  })

  it('all_of_key says the same, and its response counts what is left', async () => {
    const { first, living } = await family()
    const answer = accepted(await revoke({ cert_id: first, all_of_key: true }))
    expect(answer).toMatchObject({ also_revoked: { count: 2, sample: living }, other_certificates: NONE })
  })

  it('end also when the named one is already revoked', async () => {
    const { node, first, living } = await family()
    accepted(await revoke({ cert_id: first, only_this: true }))
    const before = await list()
    accepted(await revoke({ cert_ids: [first] }))
    expect((await list()).sequence).toBe(before.sequence + 1)
    for (const id of living) refused(await node.heartbeat(id), 403, 'certificate_revoked')
  })

  it('are not named when a concurrent request revokes them', async () => {
    const node = await newNode()
    const [a, b] = [(await enroll(na, node)).cert_id, (await enroll(na, node)).cert_id]
    const answers = await Promise.all([
      revoke({ cert_id: a, only_this: true }),
      revoke({ cert_id: b, only_this: true }),
      revoke({ cert_id: a }),
    ])
    for (const answer of answers) accepted(answer)
    expect(accepted(await revoke({ cert_id: a }))).not.toHaveProperty('other_certificates')
  })

  it.each<JsonObject>([
    { all_of_key: 1 },
    { all_of_key: null },
    { only_this: 'true' },
    { only_this: true, all_of_key: true },
    { only_this: false, all_of_key: false },
    { only_this: true, reason: 'key_compromise' },
  ])('refuses %j, and changes nothing', async (members) => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    refused(await revoke({ cert_id, ...members }), 400, 'invalid_input')
    accepted(await node.heartbeat(cert_id))
  })

  it('only_this requires the privileged tier, as every revocation', async () => {
    const { cert_id } = await enroll(na, await newNode())
    const answer = await na.as('standard')('POST', '/admin/revoke', { cert_id, only_this: true })
    refused(answer, 403, 'insufficient_operator_tier')
  })
})
