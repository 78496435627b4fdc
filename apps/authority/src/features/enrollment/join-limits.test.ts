import { ManualClock, accepted, createInvite, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({
    clock,
    settings: {
      NA_CLOCK_CHECK: 'off',
      NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE: '3',
      NA_RATE_LIMIT_JOIN_PER_MINUTE: '10',
    },
  })
})
afterAll(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'join-limit', clock)

/** Makes failed invite checks from one address until the limit is reached. */
async function failThrice(from: string): Promise<void> {
  const node = await newNode()
  for (let index = 0; index < 3; index += 1)
    refused(await node.join(`guess-${index}`, {}, { from }), 403, 'invalid_invite_token')
}

describe('POST /join, 429', () => {
  it('limits an address that guesses tokens', async () => {
    const from = '127.2.0.1'
    await failThrice(from)
    const answer = await (await newNode()).join('guess-4', {}, { from })
    refused(answer, 429, 'rate_limit_exceeded')
    expect(answer.headers['retry-after']).toBe('60')
  })

  it('never refuses a valid token because of that limit', async () => {
    const from = '127.2.0.2'
    await failThrice(from)
    refused(await (await newNode()).join('guess-4', {}, { from }), 429, 'rate_limit_exceeded')
    accepted(await (await newNode()).join(await createInvite(na), {}, { from }), 201)
  })

  it('counts invite failures only: a bad proof with a valid token does not count', async () => {
    const from = '127.2.0.3'
    const [node, other, token] = [await newNode(), await newNode(), await createInvite(na)]
    for (let index = 0; index < 4; index += 1)
      refused(await node.join(token, {}, { from, signer: other.signer }), 401, 'node_auth_failed')
    refused(await node.join('guess', {}, { from }), 403, 'invalid_invite_token')
  })

  it('counts addresses separately', async () => {
    await failThrice('127.2.0.4')
    refused(await (await newNode()).join('guess', {}, { from: '127.2.0.5' }), 403, 'invalid_invite_token')
  })

  it('resets after the window', async () => {
    const from = '127.2.0.6'
    await failThrice(from)
    refused(await (await newNode()).join('guess', {}, { from }), 429, 'rate_limit_exceeded')
    clock.advance(60)
    refused(await (await newNode()).join('guess', {}, { from }), 403, 'invalid_invite_token')
  })

  it('counts every join of an address, before anything is read', async () => {
    const from = '127.2.0.7'
    for (let index = 0; index < 10; index += 1)
      refused(await na.request('POST', '/join', { rawBody: '{', from }), 400, 'invalid_json')
    refused(await na.request('POST', '/join', { rawBody: '{', from }), 429, 'rate_limit_exceeded')
    refused(await (await newNode()).join(await createInvite(na), {}, { from }), 429, 'rate_limit_exceeded')
  })
})
