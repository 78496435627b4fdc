import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, enroll, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
let node: NodeCaller
let first: { readonly cert_id: string }
let second: { readonly cert_id: string }
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  node = await newNodeCaller(na.url, 'one-node', clock)
  first = await enroll(na, node)
  clock.advance(60)
  second = accepted(await node.renew(first.cert_id), 201) as unknown as { cert_id: string }
})
afterAll(() => na.stop())

const pathOf = (key: string): string => key.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
const get = (rest = '', key = node.key): Promise<TestResponse> =>
  na.as('standard')('GET', `/admin/nodes/${pathOf(key)}${rest}`)
const typesOf = (answer: JsonObject): readonly unknown[] =>
  (answer['events'] as readonly JsonObject[]).map((event) => event['event_type'])

describe('GET /admin/nodes/{node_public_key}', () => {
  it('200: gives the node with its certificates, newest first, and the invite it joined with', async () => {
    const answer = accepted(await get())
    expect(answer).toMatchObject({
      node_public_key: node.key,
      state: 'active',
      cert_id: second.cert_id,
      agent: null,
      more_certificates: false,
      certificates: [
        { cert_id: second.cert_id, renewed_from: first.cert_id, superseded_at: null, certificate: second },
        { cert_id: first.cert_id, renewed_from: null, certificate: first },
      ],
      invite: { roles: ['role:client'], created_by: 'op-standard' },
    })
    expect(Object.keys(answer['invite'] as JsonObject)).not.toContain('token')
  })

  it('400, 401 and 404: for other texts, without a signature and for an unknown key', async () => {
    refused(await na.as('standard')('GET', '/admin/nodes/abc'), 400, 'invalid_public_key')
    refused(await get('?all=1'), 400, 'unexpected_field')
    refused(await na.request('GET', `/admin/nodes/${pathOf(node.key)}`), 401, 'admin_auth_failed')
    const stranger = await newNodeCaller(na.url, 'stranger', clock)
    refused(await get('', stranger.key), 404, 'node_not_found')
    refused(await get('/events', stranger.key), 404, 'node_not_found')
  })
})

describe('GET /admin/nodes/{node_public_key}/events', () => {
  it('200: lists events that name the key, a certificate or the invite, newest first, in pages', async () => {
    clock.advance(1)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: second.cert_id, reason: 'key_compromise' }))
    const whole = accepted(await get('/events'))
    const types = typesOf(whole)
    expect(new Set(types)).toEqual(
      new Set(['certificate_revoked', 'certificate_renewed', 'certificate_issued', 'invite_created']),
    )
    expect(types.slice(-2).toSorted()).toEqual(['certificate_issued', 'invite_created'])
    const walked: unknown[] = []
    for (let cursor = ''; ;) {
      const answer = accepted(await get(`/events?limit=1${cursor}`))
      walked.push(...typesOf(answer))
      if (answer['next_cursor'] === null) break
      cursor = `&cursor=${String(answer['next_cursor'])}`
    }
    expect(walked).toEqual(types)
  })

  it('400: for a cursor or parameter that is not ours', async () => {
    refused(await get('/events?cursor=x'), 400, 'invalid_page')
    refused(await get('/events?type=x'), 400, 'unexpected_field')
  })
})
