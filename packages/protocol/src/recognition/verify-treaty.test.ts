import { describe, expect, it } from 'vitest'
import { type RecognitionTreaty, readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { type Instant, readInstant } from '../canonical/time.ts'
import { asJson, signList } from '../signing/verify-any.ts'
import { seedSigner } from '../signing/keys.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { type TreatyReason, toRecognizedIssuer, verifyTreaty } from './verify-treaty.ts'

const authority = await seedSigner('na-example', core.keys.find(({ name }) => name === 'na')?.seed ?? '')
const SUBJECT_KEY = core.keys.find(({ name }) => name === 'partner-na')?.public_key ?? ''
const at = (text: string): Instant => readInstant(text) ?? 0n

async function treaty(changes: JsonObject = {}): Promise<RecognitionTreaty> {
  const draft = {
    treaty_id: 't-1',
    issuer_sovereign_id: 'EXAMPLE-NET',
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [SUBJECT_KEY],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active', 'suspended'], claims: { tier: 'gold' } },
    status: 'active',
    issued_at: '2030-01-01T06:00:00Z',
    valid_from: '2030-01-01T06:00:00Z',
    expires_at: '2030-01-31T06:00:00Z',
    issued_by: 'na-example',
    metadata: {},
    ...changes,
  }
  return readRecognitionTreaty(asJson(await signList(draft, authority)))
}

type Against = Parameters<typeof verifyTreaty>[1]
interface Case {
  readonly treaty: RecognitionTreaty
  readonly against: Against
}

async function good(): Promise<Case> {
  const expected = { expectedIssuer: 'EXAMPLE-NET', expectedSubject: 'PARTNER-NET' }
  const against = { keys: [authority.publicKey], ...expected, isRevoked: false, now: at('2030-01-10T00:00:00Z') }
  return { treaty: await treaty(), against }
}

async function reason(facts: Case): Promise<TreatyReason | 'accepted'> {
  const verdict = await verifyTreaty(facts.treaty, facts.against)
  return verdict.ok ? 'accepted' : verdict.reason
}

const withAgainst = (facts: Case, changes: Partial<Against>): Case => ({
  ...facts,
  against: { ...facts.against, ...changes },
})
const withTreaty = (facts: Case, changes: Partial<RecognitionTreaty>): Case => ({
  ...facts,
  treaty: { ...facts.treaty, ...changes },
})

/** One way to fail each check, in the order of protocol/core 17.2 from check 4 on; they can be put together. */
const FAILURES: readonly [TreatyReason, (facts: Case) => Case][] = [
  ['wrong_issuer', (facts) => withAgainst(facts, { expectedIssuer: 'OTHER-NET' })],
  ['wrong_subject', (facts) => withAgainst(facts, { expectedSubject: 'OTHER-NET' })],
  ['locally_revoked', (facts) => withAgainst(facts, { isRevoked: true })],
  ['bad_status', (facts) => withTreaty(facts, { status: 'suspended' })],
  ['outside_validity_window', (facts) => withAgainst(facts, { now: at('2031-01-01T00:00:00Z') })],
  ['missing_signature', (facts) => withTreaty(facts, { signatures: [] })],
  ['invalid_signature', (facts) => withTreaty(facts, { issued_by: 'someone' })],
]

describe('verifyTreaty (protocol/core 17.2)', () => {
  it('accepts a treaty under a key of its issuer, whether or not parties are expected', async () => {
    const facts = await good()
    expect(await reason(facts)).toBe('accepted')
    expect(await reason(withAgainst(facts, { expectedIssuer: undefined, expectedSubject: undefined }))).toBe('accepted')
  })

  it('of any set of failures names the first of the table', async () => {
    for (let set = 1; set < 2 ** FAILURES.length; set += 1) {
      const chosen = FAILURES.filter((_, i) => (set >> i) % 2 === 1)
      const facts = chosen.reduce((each, [, fail]) => fail(each), await good())
      expect(await reason(facts), chosen.map(([name]) => name).join(' ')).toBe(chosen[0]?.[0])
    }
  })

  it.each<[string, TreatyReason | 'accepted']>([
    ['2030-01-01T05:55:00Z', 'accepted'],
    ['2030-01-01T05:54:59.999999Z', 'outside_validity_window'],
    ['2030-01-31T06:05:00Z', 'accepted'],
    ['2030-01-31T06:05:00.000001Z', 'outside_validity_window'],
  ])('at %s', async (now, expected) => {
    expect(await reason(withAgainst(await good(), { now: at(now) }))).toBe(expected)
  })

  it.each(['suspended', 'revoked'] as const)('signed as %s it does not hold', async (status) => {
    expect(await reason({ ...(await good()), treaty: await treaty({ status }) })).toBe('bad_status')
  })

  it('compares names exactly', async () => {
    const facts = await good()
    for (const expectedIssuer of ['example-net', 'EXAMPLE-NET ', ''])
      expect(await reason(withAgainst(facts, { expectedIssuer }))).toBe('wrong_issuer')
    for (const expectedSubject of ['partner-net', ''])
      expect(await reason(withAgainst(facts, { expectedSubject }))).toBe('wrong_subject')
  })

  it('does not hold under the keys of its subject, or under none', async () => {
    const facts = await good()
    expect(await reason(withAgainst(facts, { keys: [SUBJECT_KEY] }))).toBe('invalid_signature')
    expect(await reason(withAgainst(facts, { keys: [] }))).toBe('invalid_signature')
    expect(await reason(withAgainst(facts, { keys: [SUBJECT_KEY, authority.publicKey] }))).toBe('accepted')
  })

  it.each(['treaty_id', 'subject_sovereign_id', 'subject_public_keys', 'scope', 'metadata', 'expires_at'] as const)(
    'another %s is another treaty',
    async (name) => {
      const other = await treaty({
        treaty_id: 't-2',
        subject_sovereign_id: 'EVIL-NET',
        subject_public_keys: [authority.publicKey],
        scope: { allowed_roles: ['role:operator'], accepted_statuses: ['active'], claims: {} },
        metadata: { a: 1 },
        expires_at: '2031-01-31T06:00:00Z',
      })
      const facts = withAgainst(await good(), { expectedSubject: undefined })
      expect(await reason(withTreaty(facts, { [name]: other[name] }))).toBe('invalid_signature')
    },
  )
})

describe('toRecognizedIssuer', () => {
  it('makes the subject an issuer within the scope, labels left out', async () => {
    expect(toRecognizedIssuer(await treaty())).toEqual({
      sovereign_id: 'PARTNER-NET',
      public_keys: [SUBJECT_KEY],
      allowed_roles: ['role:client'],
      accepted_statuses: ['active', 'suspended'],
    })
  })
})
