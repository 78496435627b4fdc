import { sha256Hex } from '@chancery/protocol'
import { accepted, createInvite, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findInvites } from './invites.ts'

let na: TestAuthority
let node: NodeCaller
beforeAll(async () => {
  na = await startTestAuthority()
  node = nodeCaller(na.url, await testSigner('node', 'invites'), () => na.core.clock.now())
})
afterAll(() => na.stop())

const find = (...questions: [token: string, key: string][]) =>
  findInvites(
    na.core.database,
    questions.map(([token, node_public_key]) => ({ token_digest: sha256Hex(token), node_public_key })),
  )

describe('findInvites', () => {
  it('answers each question in its place, also repeated ones', async () => {
    const [first, second] = [
      await createInvite(na, { max_validity_hours: 1 }),
      await createInvite(na, { max_validity_hours: 2, recipient_public_key: node.key }),
    ]
    const found = await find([second, 'k'], ['unknown', 'k'], [first, 'k'], [second, 'other'])
    expect(found.map((invite) => invite?.max_validity_hours)).toEqual([2, undefined, 1, 2])
    expect(found[0]).toMatchObject({
      roles_json: '["role:client"]',
      used_at: null,
      recipient_public_key: node.key,
      compromised_cert_id: null,
    })
  })

  it('shows a used invite as used', async () => {
    const token = await createInvite(na)
    accepted(await node.join(token), 201)
    const [found] = await find([token, node.key])
    expect(found?.used_at).toEqual(expect.any(String))
  })

  it('names the certificate with which the requesting key was revoked as compromised, and only for that key', async () => {
    const compromised = nodeCaller(na.url, await testSigner('node', 'invites-burnt'), () => na.core.clock.now())
    const { cert_id } = await enroll(na, compromised)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
    const token = await createInvite(na)
    const found = await find([token, compromised.key], [token, node.key])
    expect(found.map((invite) => invite?.compromised_cert_id)).toEqual([cert_id, null])
  })
})
