import { ManualClock, accepted, enroll, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  const settings = {
    NA_CLOCK_CHECK: 'off',
    NA_RATE_LIMIT_NODE_KEY_PER_MINUTE: '4',
    NA_RATE_LIMIT_NODE_PER_MINUTE: '20',
  }
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

let counter = 0
const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'node-limit', clock)

/** A different address each time, so that only the limit of the key applies. */
const ownAddress = (): { from: string } => ({ from: `127.6.0.${(counter += 1)}` })

describe('POST /heartbeat and /renew, 429', () => {
  it('counts both together per node key', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    for (let index = 0; index < 2; index += 1) {
      accepted(await node.heartbeat(cert_id, {}, ownAddress()))
      accepted(await node.renew(cert_id, {}, ownAddress()), 201)
    }
    const answer = await node.heartbeat(cert_id, {}, ownAddress())
    refused(answer, 429, 'rate_limit_exceeded')
    expect(answer.headers['retry-after']).toBe('60')
    refused(await node.renew(cert_id, {}, ownAddress()), 429, 'rate_limit_exceeded')
    clock.advance(60)
    accepted(await node.heartbeat(cert_id, {}, ownAddress()))
  })

  it('cannot be used up by another caller: only valid proofs count', async () => {
    const [node, unknownSigner] = [await newNode(), await newNode()]
    const { cert_id } = await enroll(na, node)
    for (let index = 0; index < 6; index += 1) {
      const options = { signer: unknownSigner.signer, ...ownAddress() }
      refused(await node.heartbeat(cert_id, {}, options), 401, 'node_auth_failed')
    }
    accepted(await node.heartbeat(cert_id, {}, ownAddress()))
  })

  it('counts keys separately', async () => {
    const [busy, calm] = [await newNode(), await newNode()]
    const [first, second] = [await enroll(na, busy), await enroll(na, calm)]
    for (let index = 0; index < 4; index += 1) accepted(await busy.heartbeat(first.cert_id, {}, ownAddress()))
    refused(await busy.heartbeat(first.cert_id, {}, ownAddress()), 429, 'rate_limit_exceeded')
    accepted(await calm.heartbeat(second.cert_id, {}, ownAddress()))
  })

  it('applies before the certificate is checked', async () => {
    const node = await newNode()
    for (let index = 0; index < 4; index += 1)
      refused(await node.heartbeat('unknown', {}, ownAddress()), 403, 'certificate_not_found')
    refused(await node.heartbeat('unknown', {}, ownAddress()), 429, 'rate_limit_exceeded')
  })

  it('counts both routes together per address, before anything is read', async () => {
    const from = '127.7.0.1'
    for (let index = 0; index < 20; index += 1) {
      const route = index % 2 === 0 ? '/heartbeat' : '/renew'
      refused(await na.request('POST', route, { rawBody: '{', from }), 400, 'invalid_json')
    }
    for (const route of ['/heartbeat', '/renew'])
      refused(await na.request('POST', route, { rawBody: '{', from }), 429, 'rate_limit_exceeded')
  })
})
