import { describe, expect, it } from 'vitest'
import { type Attestation, readAttestation } from '../artifacts/attestation.ts'
import { readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { digestOf } from '../canonical/digest.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { type Instant, readInstant, seconds } from '../canonical/time.ts'
import { isIssuableScope, treatyCapabilities } from '../recognition/treaty-capabilities.ts'
import { FormError } from '../reading/schema.ts'
import { asJson, signList } from '../signing/verify-any.ts'
import { seedSigner } from '../signing/keys.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { type Evaluation, basisEnd, evaluateBoundary } from './evaluate.ts'
import { assessPresented, readPresentedAttestation, recognitionAttribute } from './presented-basis.ts'
import type { PresentedBasis, PresentedFacts, PresentedFailure, StoredTreaty } from './presented-basis.ts'
import { CONTEXT } from './policies.suite.ts'

const seedOf = (name: string): string => core.keys.find((key) => key.name === name)?.seed ?? ''
const [own, partner, outsider] = await Promise.all([
  seedSigner('na-example', seedOf('na')),
  seedSigner('na-partner', seedOf('partner-na')),
  seedSigner('x', seedOf('subject')),
])
const at = (text: string): Instant => readInstant(text) ?? 0n
const NOW = at('2030-01-03T12:00:00Z')

async function member(changes: JsonObject = {}, signer = partner): Promise<Attestation> {
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
    claims: { capabilities: ['ledger.read', 'vault.open'] },
    ...changes,
  }
  return readAttestation(asJson(await signList(draft, signer)))
}

async function treaty(changes: JsonObject = {}, isActive = true): Promise<StoredTreaty> {
  const draft = {
    treaty_id: 't-1',
    issuer_sovereign_id: 'EXAMPLE-NET',
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: { capabilities: ['ledger.*'] } },
    status: 'active',
    issued_at: '2030-01-01T06:00:00Z',
    valid_from: '2030-01-01T06:00:00Z',
    expires_at: '2030-01-31T06:00:00Z',
    issued_by: 'na-example',
    metadata: {},
    ...changes,
  }
  return { treaty: readRecognitionTreaty(asJson(await signList(draft, own))), isActive }
}

const assess = async (changes: Partial<PresentedFacts> = {}): Promise<PresentedBasis> =>
  assessPresented({
    attestation: await member(),
    isOwnId: false,
    treaties: [await treaty()],
    isRevoked: false,
    requester: undefined,
    revocationSequence: 3,
    feed: { sequence: 2, issued_at: '2030-01-03T00:00:00Z' },
    maxFeedAgeSeconds: 86_400,
    now: NOW,
    ...changes,
  })

const scope = (changes: JsonObject): JsonObject => ({
  scope: {
    allowed_roles: ['role:client'],
    accepted_statuses: ['active'],
    claims: { capabilities: ['ledger.*'] },
    ...changes,
  },
})

function evaluate(basis: PresentedBasis, requested_at = '2030-01-03T12:00:00Z', requested_capability = 'ledger.read') {
  const context = { ...CONTEXT, requested_at, requested_capability }
  return evaluateBoundary({ basis, context, policies: [], now: at(requested_at) })
}
const inputsOf = (run: Evaluation): JsonObject | undefined => run.steps.at(-1)?.inputs

describe('assessPresented (protocol/trust-operations 4.11)', () => {
  it('accepts a member under an own treaty', async () => {
    const basis = await assess()
    const { signatures: _signatures, ...body } = (await treaty()).treaty
    expect(basis).toMatchObject({
      failure: undefined,
      isSigned: true,
      revocation_seq_checked: 3,
      treaty: { treaty_id: 't-1', treaty_digest: digestOf(body), capabilities: ['ledger.*'] },
    })
    expect(evaluate(basis)).toMatchObject({ authorized: true, denial_reason: null })
  })

  it.each<[string, () => Promise<Partial<PresentedFacts>>, PresentedFailure, boolean]>([
    ['an own id', async () => ({ isOwnId: true }), 'attestation_invalid', false],
    ['no treaty', async () => ({ treaties: [] }), 'treaty_not_found', false],
    ['a revoked treaty', async () => ({ treaties: [await treaty({}, false)] }), 'treaty_revoked', false],
    [
      'a treaty signed as revoked',
      async () => ({ treaties: [await treaty({ status: 'revoked' })] }),
      'treaty_revoked',
      false,
    ],
    ['an expired treaty', async () => ({ now: at('2030-01-31T06:00:00Z') }), 'treaty_expired', false],
    ['an early treaty', async () => ({ now: at('2030-01-01T05:54:59Z') }), 'treaty_not_yet_valid', false],
    ['another signer', async () => ({ attestation: await member({}, outsider) }), 'attestation_invalid', false],
    [
      'a suspended member',
      async () => ({ attestation: await member({ status: 'suspended' }) }),
      'attestation_revoked',
      true,
    ],
    [
      'a treaty without active',
      async () => ({ treaties: [await treaty(scope({ accepted_statuses: ['suspended'] }))] }),
      'attestation_revoked',
      true,
    ],
    ['no role', async () => ({ attestation: await member({ roles: [] }) }), 'attestation_role_not_allowed', true],
    [
      'a further role',
      async () => ({ attestation: await member({ roles: ['role:client', 'role:x'] }) }),
      'attestation_role_not_allowed',
      true,
    ],
    ['a revocation', async () => ({ isRevoked: true }), 'attestation_revoked', true],
    ['another requester', async () => ({ requester: 'zoë@partner' }), 'attestation_subject_mismatch', true],
  ])('%s', async (_what, facts, failure, isSigned) => {
    const basis = await assess(await facts())
    expect([basis.failure, basis.isSigned]).toEqual([failure, isSigned])
    expect(evaluate(basis)).toMatchObject({ authorized: false, denial_reason: failure })
  })

  it('uses the newest treaty without a failure, and otherwise reports that of the newest', async () => {
    const narrow = await treaty({ treaty_id: 't-2', ...scope({ allowed_roles: ['role:x'] }) })
    expect((await assess({ treaties: [narrow, await treaty()] })).treaty?.treaty_id).toBe('t-1')
    const foreign = await treaty({ treaty_id: 't-3', subject_public_keys: [outsider.publicKey] })
    const basis = await assess({ treaties: [narrow, foreign] })
    expect([basis.failure, basis.treaty, basis.isSigned]).toEqual(['attestation_role_not_allowed', undefined, true])
  })

  it('looks at 64 treaties at most', async () => {
    const narrow = await treaty({ treaty_id: 't-2', ...scope({ allowed_roles: ['role:x'] }) })
    const many = Array.from({ length: 64 }, () => narrow)
    expect((await assess({ treaties: [...many, await treaty()] })).failure).toBe('attestation_role_not_allowed')
  })
})

describe('the gates of a presented attestation', () => {
  it.each([
    ['2030-01-01T23:55:00Z', undefined],
    ['2030-01-01T23:54:59Z', 'attestation_not_yet_valid'],
    ['2030-01-09T00:00:00Z', undefined],
    ['2030-01-09T00:00:01Z', 'attestation_expired'],
  ])('at %s', async (time, denial) => {
    const basis = await assess({ maxFeedAgeSeconds: 0, now: at(time) })
    expect(evaluate(basis, time).denial_reason ?? undefined).toBe(denial)
  })

  it('grants what the attestation claims and the treaty names', async () => {
    const basis = await assess()
    for (const capability of ['vault.open', 'ledger.append', 'ledger'])
      expect(evaluate(basis, undefined, capability).denial_reason).toBe('capability out of scope')
    const bare = await assess({ treaties: [await treaty(scope({ claims: {} }))] })
    expect(inputsOf(evaluate(bare))).toMatchObject({ treaty_capabilities: null })
  })

  it('needs a recent complete feed, unless the limit is 0', async () => {
    const judge = async (changes: Partial<PresentedFacts>): Promise<string | null> =>
      evaluate(await assess(changes)).denial_reason
    const feed = (age: number): Partial<PresentedFacts> => ({
      feed: { sequence: 2, issued_at: new Date(Number((NOW - seconds(age)) / 1000n)).toISOString() },
    })
    expect(await judge({ feed: undefined })).toBe('insufficient freshness')
    expect(await judge({ feed: undefined, maxFeedAgeSeconds: 0 })).toBeNull()
    expect(await judge(feed(86_400))).toBeNull()
    expect(await judge(feed(86_401))).toBe('insufficient freshness')
    expect(await judge(feed(-300))).toBeNull()
    expect(await judge(feed(-301))).toBe('insufficient freshness')
    expect(await judge({ feed: { sequence: 2, issued_at: null } })).toBe('insufficient freshness')
  })

  it('needs a recent contact where a limit is set, whatever the age of the feed', async () => {
    const judge = async (contact: PresentedFacts['contact']): Promise<string | null> =>
      evaluate(await assess({ contact })).denial_reason
    const ago = (age: number): string => new Date(Number((NOW - seconds(age)) / 1000n)).toISOString()
    expect(await judge(undefined)).toBeNull()
    expect(await judge({ at: ago(900), maxAgeSeconds: 900 })).toBeNull()
    expect(await judge({ at: ago(901), maxAgeSeconds: 900 })).toBe('insufficient freshness')
    expect(await judge({ at: null, maxAgeSeconds: 900 })).toBe('insufficient freshness')
    const gates = inputsOf(evaluate(await assess({ contact: { at: ago(1), maxAgeSeconds: 900 } })))
    expect(gates).toMatchObject({ last_contact_at: ago(1), max_contact_age_seconds: 900 })
    expect(inputsOf(evaluate(await assess()))).not.toHaveProperty('last_contact_at')
  })

  it('ends with the treaty, also when it ends after the assessment', async () => {
    const ending = await assess({ treaties: [await treaty({ expires_at: '2030-01-03T12:01:00Z' })] })
    expect(basisEnd(ending)).toBe(at('2030-01-03T12:01:00Z'))
    expect(evaluate(ending, '2030-01-03T12:01:00Z').denial_reason).toBe('treaty_expired')
    expect(basisEnd(await assess())).toBe(at('2030-01-09T00:00:00Z'))
  })

  it('names treaty, feed and claims for policies, without large claims', async () => {
    expect(recognitionAttribute(await assess())).toMatchObject({ subject_id: 'zoë@partner', feed_sequence: 2 })
    const large = await member({ claims: { capabilities: ['ledger.read'], text: 'x'.repeat(4096) } })
    expect(recognitionAttribute(await assess({ attestation: large }))).not.toHaveProperty('claims')
    expect(recognitionAttribute(await assess({ treaties: [], feed: undefined }))).toMatchObject({
      treaty_id: null,
      feed_sequence: 0,
      feed_issued_at: null,
    })
  })
})

describe('readPresentedAttestation', () => {
  it('takes complete records only', async () => {
    const record = asJson(await member())
    expect(readPresentedAttestation(record)).toEqual(record)
    const { roles: _roles, ...rest } = record
    for (const bad of [rest, { ...record, extra: 1 }, 'x', null])
      expect(() => readPresentedAttestation(bad)).toThrow(FormError)
  })
})

describe('the scope of a treaty', () => {
  it('lists capabilities and patterns', () => {
    expect(treatyCapabilities({ claims: { capabilities: ['ledger.*', 'vault.open'] } })).toEqual([
      'ledger.*',
      'vault.open',
    ])
    const bad = ['ledger.*', [], [5], ['*'], ['a*'], ['']]
    for (const capabilities of [...bad, Array.from({ length: 257 }, (_, i) => `c.${i}`)]) {
      expect(treatyCapabilities({ claims: { capabilities } })).toBeNull()
      expect(isIssuableScope({ claims: { capabilities } })).toBe(false)
    }
    expect(isIssuableScope({ claims: {} })).toBe(true)
    expect(isIssuableScope({ claims: { delegation: true } })).toBe(false)
  })
})
