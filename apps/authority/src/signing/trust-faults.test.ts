import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, eventsOf, foreignSovereign, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
let offer: JsonObject
let agreement: JsonObject
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const scope = { allowed_roles: ['role:client'] }
  const subject_public_keys = [foreignSovereign('bolt-net').publicKey]
  const treaty = { subject_sovereign_id: 'bolt-net', subject_public_keys, scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
  offer = accepted(await na.as('standard')('POST', '/admin/agreements/offer', REQUEST), 201)
  agreement = accepted(await na.as('standard')('POST', '/admin/agreements/accept', { offer }), 201)
})
afterAll(() => na.stop())
afterEach(() => vi.restoreAllMocks())

const REQUEST = {
  responder_sovereign_id: 'bolt-net',
  capabilities: ['ledger.read'],
  valid_from: '2026-01-02T00:00:00Z',
  valid_until: '2026-02-02T00:00:00Z',
  expires_at: '2026-02-02T00:00:00Z',
}
const FINDING = { source_sovereign_id: 'a', target_sovereign_id: 'b', verdict: 'allow' }

const CALLS: readonly (readonly [path: string, body: () => JsonObject, code: string])[] = [
  ['/admin/agreements/offer', () => REQUEST, 'offer_rejected'],
  ['/admin/agreements/counter', () => ({ ...REQUEST, offer }), 'counter_rejected'],
  ['/admin/agreements/accept', () => ({ offer }), 'accept_rejected'],
  ['/admin/trust-evidence', () => ({ decision: FINDING }), 'evidence_build_failed'],
  ['/admin/boundary/decide', () => ({ agreement, requested_capability: 'ledger.read' }), 'boundary_eval_failed'],
]

describe('a signing key that fails', () => {
  it('fails each route below: with a working key there is an event', async () => {
    const answer = await na.as('standard')('POST', '/admin/agreements/offer', REQUEST)
    expect(await eventsOf(na, answer)).toHaveLength(1)
  })

  it.each(CALLS)('returns the code of %s, and nothing is recorded', async (path, body, code) => {
    vi.spyOn(na.core.signing.signer, 'sign').mockRejectedValue(new Error('the token was pulled out'))
    const answer = await na.as('standard')('POST', path, body())
    expect(JSON.stringify(refused(answer, 422, code))).not.toContain('token')
    // Events of this request only: jobs of the start record their own.
    expect(await eventsOf(na, answer)).toEqual([])
  })

  it.each(CALLS)('produces bytes that do not verify: they never leave %s', async (path, body) => {
    vi.spyOn(na.core.signing.signer, 'sign').mockResolvedValue(new Uint8Array(64).fill(1))
    const answer = await na.as('standard')('POST', path, body())
    refused(answer, 503, 'service_unavailable')
    expect(await eventsOf(na, answer)).toEqual([])
  })
})
