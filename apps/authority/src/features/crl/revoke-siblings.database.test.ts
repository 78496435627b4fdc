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
  accepted(await revoke({ cert_id: gone }))
  const [first, second] = [(await enroll(na, node)).cert_id, (await enroll(na, node)).cert_id]
  const renewed = String(accepted(await node.renew(first), 201)['cert_id'])
  return { node, first, living: [second, renewed].sort() }
}

describe('POST /admin/revoke, other certificates of the same key', () => {
  it('are named by a dry run and by the response, and stay valid', async () => {
    const { node, first, living } = await family()
    const others = { count: 2, sample: living }
    const foreseen = accepted(await revoke({ cert_id: first, dry_run: true }))
    expect(foreseen).toMatchObject({ certificates_revoked: { count: 1, sample: [first] }, other_certificates: others })
    expect(accepted(await revoke({ cert_id: first }))['other_certificates']).toEqual(others)
    for (const cert_id of living) accepted(await node.heartbeat(cert_id))
    // Named again when nothing changes, and none of another key.
    await enroll(na, await newNode())
    expect(accepted(await revoke({ cert_id: first }))['other_certificates']).toEqual(others)
  })

  it('are revoked together with all_of_key: one transaction, one list, the same reason', async () => {
    const { node, first, living } = await family()
    const bystander = await newNode()
    const { cert_id } = await enroll(na, bystander)
    const all = [first, ...living].sort()
    const foreseen = accepted(await revoke({ cert_id: first, all_of_key: true, dry_run: true }))
    expect(foreseen).toMatchObject({
      certificates_revoked: { count: 3, sample: all },
      other_certificates: NONE,
    })
    const before = await list()
    expect(accepted(await revoke({ cert_id: first, all_of_key: true }))).toEqual({
      crl_sequence: before.sequence + 1,
      revoked_count: before.revoked_certificates.length + 3,
      other_certificates: NONE,
    })
    const crl = await list()
    for (const id of all) {
      expect(entryOf(crl, id)?.reason).toBe('cessation_of_operation')
      refused(await node.heartbeat(id), 403, 'certificate_revoked')
    }
    accepted(await bystander.heartbeat(cert_id))
    // The key is not barred, because it is not compromised.
    const { cert_id: later } = await enroll(na, node)
    accepted(await node.heartbeat(later))
  })

  it('are revoked with all_of_key also when the named one is already revoked', async () => {
    const { node, first, living } = await family()
    accepted(await revoke({ cert_id: first }))
    const before = await list()
    accepted(await revoke({ cert_ids: [first], all_of_key: true }))
    expect((await list()).sequence).toBe(before.sequence + 1)
    for (const id of living) refused(await node.heartbeat(id), 403, 'certificate_revoked')
  })

  it('are not named when a concurrent request revokes them', async () => {
    const node = await newNode()
    const [a, b] = [(await enroll(na, node)).cert_id, (await enroll(na, node)).cert_id]
    const answers = await Promise.all([
      revoke({ cert_id: a }),
      revoke({ cert_id: b }),
      revoke({ cert_id: a, all_of_key: true }),
    ])
    for (const answer of answers) accepted(answer)
    expect(accepted(await revoke({ cert_id: a }))).not.toHaveProperty('other_certificates')
  })

  it.each([[1], ['true'], [null]])('refuses all_of_key %j', async (all_of_key) => {
    const { cert_id } = await enroll(na, await newNode())
    refused(await revoke({ cert_id, all_of_key }), 400, 'invalid_input')
  })

  it('all_of_key requires the privileged tier, as every revocation', async () => {
    const { cert_id } = await enroll(na, await newNode())
    const answer = await na.as('standard')('POST', '/admin/revoke', { cert_id, all_of_key: true })
    refused(answer, 403, 'insufficient_operator_tier')
  })
})
