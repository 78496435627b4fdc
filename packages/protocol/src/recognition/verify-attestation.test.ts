import { describe, expect, it } from 'vitest'
import { type Attestation, type RecognizedIssuer, readAttestation } from '../artifacts/attestation.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { type Instant, readInstant } from '../canonical/time.ts'
import { asJson, signList } from '../signing/verify-any.ts'
import { seedSigner } from '../signing/keys.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { type AttestationReason, isInside, verifyAttestation } from './verify-treaty.ts'

const partner = await seedSigner('na-partner', core.keys.find(({ name }) => name === 'partner-na')?.seed ?? '')
const outsider = await seedSigner('x', core.keys.find(({ name }) => name === 'subject')?.seed ?? '')
const at = (text: string): Instant => readInstant(text) ?? 0n
const NOW = at('2030-01-03T00:00:00Z')

async function attestation(changes: JsonObject = {}, signer = partner): Promise<Attestation> {
  const draft = {
    attestation_id: 'a-1',
    issuer_sovereign_id: 'PARTNER-NET',
    subject_id: 'zoë@partner',
    subject_public_key: null,
    roles: ['role:client'],
    status: 'active',
    issued_at: '2030-01-02T00:00:00Z',
    valid_from: '2030-01-02T00:00:00Z',
    expires_at: '2030-01-09T00:00:00Z',
    issued_by: 'na-partner',
    claims: {},
    ...changes,
  }
  return readAttestation(asJson(await signList(draft, signer)))
}

const ISSUER: RecognizedIssuer = {
  sovereign_id: 'PARTNER-NET',
  public_keys: [partner.publicKey],
  allowed_roles: ['role:client', 'role:service:index'],
  accepted_statuses: ['active'],
}

interface Case {
  readonly attestation: Attestation
  readonly issuer: RecognizedIssuer | undefined
  readonly isRevoked: boolean
  readonly now: Instant
}

async function reason(facts: Case): Promise<AttestationReason | 'accepted'> {
  const verdict = await verifyAttestation(facts.attestation, facts)
  return verdict.ok ? 'accepted' : verdict.reason
}

const good = async (): Promise<Case> => ({
  attestation: await attestation(),
  issuer: ISSUER,
  isRevoked: false,
  now: NOW,
})
const accept = (changes: Partial<RecognizedIssuer>): RecognizedIssuer => ({ ...ISSUER, ...changes })

/** One way to fail each check, in the order of protocol/core 17.1; they can be put together. */
const FAILURES: readonly [AttestationReason, (facts: Case) => Case][] = [
  ['unknown_issuer', (facts) => ({ ...facts, issuer: undefined })],
  ['locally_revoked', (facts) => ({ ...facts, isRevoked: true })],
  ['bad_status', (facts) => ({ ...facts, attestation: { ...facts.attestation, status: 'suspended' } })],
  ['outside_validity_window', (facts) => ({ ...facts, now: at('2030-02-01T00:00:00Z') })],
  ['role_not_allowed', (facts) => ({ ...facts, attestation: { ...facts.attestation, roles: ['role:operator'] } })],
  ['missing_signature', (facts) => ({ ...facts, attestation: { ...facts.attestation, signatures: [] } })],
  ['invalid_signature', (facts) => ({ ...facts, attestation: { ...facts.attestation, subject_id: 'other' } })],
]

describe('verifyAttestation (protocol/core 17.1)', () => {
  it('accepts a member of a recognised sovereign', async () => {
    expect(await reason(await good())).toBe('accepted')
  })

  it('of any set of failures names the first of the table', async () => {
    for (let set = 1; set < 2 ** FAILURES.length; set += 1) {
      const chosen = FAILURES.filter((_, i) => (set >> i) % 2 === 1)
      const facts = chosen.reduce((each, [, fail]) => fail(each), await good())
      expect(await reason(facts), chosen.map(([name]) => name).join(' ')).toBe(chosen[0]?.[0])
    }
  })

  it.each<[string, string, AttestationReason | 'accepted']>([
    ['300 s early', '2030-01-01T23:55:00Z', 'accepted'],
    ['300 s and a microsecond early', '2030-01-01T23:54:59.999999Z', 'outside_validity_window'],
    ['at its end', '2030-01-09T00:00:00Z', 'accepted'],
    ['300 s late', '2030-01-09T00:05:00Z', 'accepted'],
    ['300 s and a microsecond late', '2030-01-09T00:05:00.000001Z', 'outside_validity_window'],
  ])('%s', async (_what, now, expected) => {
    expect(await reason({ ...(await good()), now: at(now) })).toBe(expected)
  })

  it.each(['suspended', 'revoked'] as const)('a status %s that is accepted is still not active', async (status) => {
    const facts = { ...(await good()), attestation: await attestation({ status }) }
    expect(await reason(facts)).toBe('bad_status')
    expect(await reason({ ...facts, issuer: accept({ accepted_statuses: ['active', status] }) })).toBe(
      'outside_validity_window',
    )
  })

  it('an issuer of whom no status is accepted is accepted with none', async () => {
    expect(await reason({ ...(await good()), issuer: accept({ accepted_statuses: [] }) })).toBe('bad_status')
  })

  it.each<[string, readonly string[], readonly string[], AttestationReason | 'accepted']>([
    ['all allowed', ['role:client', 'role:service:index'], ISSUER.allowed_roles, 'accepted'],
    ['one of two', ['role:client', 'role:operator'], ISSUER.allowed_roles, 'role_not_allowed'],
    ['none at all', [], ISSUER.allowed_roles, 'role_not_allowed'],
    ['nothing allowed', ['role:client'], [], 'role_not_allowed'],
    ['none and nothing', [], [], 'role_not_allowed'],
    ['a prefix of an allowed one', ['role:service'], ISSUER.allowed_roles, 'role_not_allowed'],
    ['another case', ['role:Client'], ISSUER.allowed_roles, 'role_not_allowed'],
    ['a star', ['role:client'], ['role:*', '*'], 'role_not_allowed'],
  ])('roles: %s', async (_what, roles, allowed_roles, expected) => {
    const facts = { ...(await good()), attestation: await attestation({ roles }), issuer: accept({ allowed_roles }) }
    expect(await reason(facts)).toBe(expected)
  })

  it('one of several signatures under one of several keys is enough; the label selects nothing', async () => {
    const facts = await good()
    const [own] = facts.attestation.signatures
    const [foreign] = (await attestation({}, outsider)).signatures
    const signatures = [foreign, { key_id: 'someone-else', sig: own?.sig ?? '' }].filter((each) => each !== undefined)
    const mixed = { ...facts, attestation: { ...facts.attestation, signatures } }
    const issuer = accept({ public_keys: [core.keys[0]?.public_key ?? '', partner.publicKey] })
    expect(await reason({ ...mixed, issuer })).toBe('accepted')
    expect(await reason({ ...mixed, issuer: accept({ public_keys: [core.keys[0]?.public_key ?? ''] }) })).toBe(
      'invalid_signature',
    )
    expect(await reason({ ...mixed, issuer: accept({ public_keys: [] }) })).toBe('invalid_signature')
  })
})

describe('isInside', () => {
  it('compares instants, not texts', () => {
    const window = { valid_from: '2030-01-02T02:00:00+02:00', expires_at: '2030-01-08T22:00:00-02:00' }
    expect(isInside(window, at('2030-01-01T23:55:00Z'))).toBe(true)
    expect(isInside(window, at('2030-01-01T23:54:59Z'))).toBe(false)
    expect(isInside(window, at('2030-01-09T00:05:00Z'))).toBe(true)
    expect(isInside(window, at('2030-01-09T00:05:01Z'))).toBe(false)
  })
})
