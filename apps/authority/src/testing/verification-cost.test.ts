import type { JsonObject, JsonValue } from '@chancery/protocol'
import { accepted, foreignSovereign, refused, startTestAuthority } from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const signers = Array.from({ length: 64 }, (_, n) => foreignSovereign('FOREIGN-NET', `cost-${n}`))
const keys = signers.map(({ publicKey }) => publicKey)

const EVIDENCE: ForeignObject = {
  evidence_id: 'e-1',
  issuer_sovereign_id: 'FOREIGN-NET',
  source_sovereign_id: 'FOREIGN-NET',
  target_sovereign_id: 'OTHER-NET',
  verdict: 'allow',
  reason: '',
  requested_roles: [],
  trusted: true,
  hop_count: 1,
  signals: [],
  graph_digest: '0'.repeat(64),
  evaluated_at: '',
  issued_at: '2026-01-02T03:04:05.000000Z',
  issued_by: 'x',
  metadata: {},
}

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

/** The record with one signature of each of these signers. */
function signedBy(indexes: readonly number[], record: ForeignObject = EVIDENCE): ForeignObject {
  let signed = record
  for (const index of indexes) signed = signers[index]?.sign(signed) ?? signed
  return signed
}

const verify = (evidence: ForeignObject, issuer_public_keys: readonly string[]): Promise<TestResponse> =>
  na.request('POST', '/trust-evidence/verify', {
    body: { evidence: evidence as unknown as JsonValue, issuer_public_keys } as unknown as JsonObject,
  })

describe('the cost of one verification', () => {
  it('finds a valid signature under the last of 64 keys and as the last of 8', async () => {
    expect(accepted(await verify(signedBy([63]), keys))['accepted']).toBe(true)
    expect(accepted(await verify(signedBy([0, 1, 2, 3, 4, 5, 6, 7]), keys.slice(7, 8)))['accepted']).toBe(true)
  })

  it('is refused where 8 signatures would be tried under 64 keys, without a verdict', async () => {
    const elsewhere = signedBy([0, 1, 2, 3, 4, 5, 6, 7], { ...EVIDENCE, evidence_id: 'e-2' })
    const forged = { ...EVIDENCE, signatures: elsewhere['signatures'] ?? [] }
    refused(await verify(forged, keys), 400, 'too_many_verifications')
    const answer = accepted(await verify(forged, keys.slice(0, 16)))
    expect(answer).toMatchObject({ accepted: false, reason: 'invalid_signature' })
  })

  it('is refused for a large record after a few keys', async () => {
    const large = { ...EVIDENCE, metadata: { text: 'a'.repeat(1_900_000) } }
    refused(await verify(signedBy([63], large), keys), 400, 'too_many_verifications')
    expect(accepted(await verify(signedBy([7], large), keys.slice(0, 8)))['accepted']).toBe(true)
  })
})
