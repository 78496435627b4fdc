import { describe, expect, it } from 'vitest'
import { readGenesisBlock } from '../artifacts/genesis-block.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { DAY } from '../canonical/time.ts'
import { EXAMPLES, type Example } from './examples.suite.ts'
import { RECORD_KINDS, type RecordKindName, detectRecordKind } from './record-kind.ts'
import { verifyRecordOfKind } from './verify-record.ts'

function exampleOf(kind: RecordKindName): Example {
  const found = EXAMPLES.find((example) => example.kind === kind)
  if (found === undefined) throw new TypeError(`no example of ${kind}`)
  return found
}

async function reasonOf({ kind, record, trust }: Example, changes: Partial<Example['trust']> = {}): Promise<string> {
  const verdict = await verifyRecordOfKind(kind, record, { ...trust, ...changes })
  return verdict.ok ? 'valid' : verdict.reason
}

/** The same example by other keys, of both parties where it has two. */
function keysOf({ kind }: Example, keys: readonly string[]): Partial<Example['trust']> {
  return kind === 'agreement-record' ? { keys, offererKeys: keys, responderKeys: keys } : { keys }
}

const SELF_SIGNED: readonly RecordKindName[] = ['genesis-block', 'agent-descriptor', 'recognition-policy']

describe('a record of every kind', () => {
  it('is among the examples', () => {
    expect(EXAMPLES.map(({ kind }) => kind).toSorted()).toEqual(RECORD_KINDS.toSorted())
  })

  it.each(EXAMPLES)('$kind is recognised and holds', async (example) => {
    expect(detectRecordKind(example.record)).toBe(example.kind)
    expect(await reasonOf(example)).toBe('valid')
  })

  it.each(EXAMPLES)('$kind: the verdict has the record and what was checked', async ({ kind, record, trust }) => {
    const verdict = await verifyRecordOfKind(kind, record, trust)
    if (!verdict.ok) throw new Error(verdict.reason)
    expect(verdict.kind).toBe(kind)
    expect(record).toMatchObject(verdict.record)
    expect(verdict.checked).toEqual(kind === 'recognition-policy' ? [] : expect.arrayContaining(['signature']))
    // No part is both.
    expect(verdict.checked.filter((part) => (verdict.unproven as readonly string[]).includes(part))).toEqual([])
  })

  it.each(EXAMPLES.filter(({ kind }) => kind !== 'recognition-policy'))(
    '$kind is not valid under another key, nor unsigned',
    async (example) => {
      const outsider = 'GBrrHJtgVIR4IT8ZhA8LPEh0NaBYkLwijVy/j5+LyHI='
      expect(await reasonOf(example, keysOf(example, [outsider]))).not.toBe('valid')
      if (example.kind === 'capability-membership-proof') return
      const { signature: _one, signatures: _many, ...unsigned } = example.record
      expect(await reasonOf({ ...example, record: unsigned })).toMatch(/^missing_(offerer_)?signature$/)
    },
  )

  it.each(EXAMPLES.filter(({ kind }) => !SELF_SIGNED.includes(kind)))('$kind needs a trusted key', async (example) => {
    const reason = example.kind === 'agreement-record' ? 'party_keys_needed' : 'keys_needed'
    expect(await reasonOf(example, keysOf(example, []))).toBe(reason)
  })
})

describe('an agreement', () => {
  const example = exampleOf('agreement-record')
  const { offererKeys = [], responderKeys = [] } = example.trust
  const both = [...offererKeys, ...responderKeys]
  const [responder, offerer] = example.record['signatures'] as readonly JsonObject[]
  const signedBy = (...signatures: readonly (JsonObject | undefined)[]): Example => ({
    ...example,
    record: { ...example.record, signatures: signatures.filter((each) => each !== undefined) },
  })

  it('is not verified with one list of keys, however many signatures it has', async () => {
    const { offererKeys: _offerer, responderKeys: _responder, ...rest } = example.trust
    for (const each of [example, signedBy(offerer), signedBy(offerer, offerer), signedBy(responder)])
      expect(await reasonOf({ ...each, trust: { ...rest, keys: both } })).toBe('party_keys_needed')
    expect(await reasonOf(example, { offererKeys, responderKeys: [] })).toBe('party_keys_needed')
  })

  it('does not hold when one party signed for both, nor under keys that are given for both', async () => {
    expect(await reasonOf(signedBy(offerer))).toBe('missing_responder_signature')
    expect(await reasonOf(signedBy(offerer, offerer))).toBe('invalid_responder_signature')
    expect(await reasonOf(signedBy(responder))).toBe('invalid_offerer_signature')
    expect(await reasonOf(signedBy(offerer), { offererKeys, responderKeys: offererKeys })).toBe(
      'overlapping_party_keys',
    )
    expect(await reasonOf(example, { offererKeys: both, responderKeys: both })).toBe('overlapping_party_keys')
  })

  it('takes the authority of a genesis block for the party of its name, and nothing more', async () => {
    const genesis = readGenesisBlock(exampleOf('genesis-block').record)
    const [public_key = ''] = offererKeys
    const network_authority = { ...genesis.network_authority, public_key }
    const own = { ...genesis, network_name: 'acme-net', network_authority }
    expect(await reasonOf(example, { keys: [], offererKeys: [], genesis: own })).toBe('valid')
    expect(await reasonOf(example, { keys: [], offererKeys: [], responderKeys: [], genesis: own })).toBe(
      'party_keys_needed',
    )
    expect(await reasonOf(example, { keys: [], genesis })).toBe('wrong_issuer')
  })
})

it('a consensus proof does not hold when one key is given for two validators', async () => {
  const example = exampleOf('consensus-proof')
  const [first = ''] = example.trust.validatorKeys.values()
  const validatorKeys = new Map([...example.trust.validatorKeys.keys()].map((id) => [id, first]))
  expect(await reasonOf(example, { validatorKeys })).toBe('duplicate_validator_key')
})

describe('what a record that holds leaves open', () => {
  const openIn = async (kind: RecordKindName, changes: Partial<Example['trust']> = {}): Promise<unknown> => {
    const { record, trust } = exampleOf(kind)
    const verdict = await verifyRecordOfKind(kind, record, { ...trust, ...changes })
    return verdict.ok ? verdict.unproven : verdict.reason
  }
  const genesis = readGenesisBlock(exampleOf('genesis-block').record)

  it('is the root key of a genesis block, unless it was given', async () => {
    expect(await openIn('genesis-block', { keys: [] })).toEqual(['root_key', 'newest'])
    expect(await openIn('genesis-block', { keys: [genesis.root_public_key] })).toEqual(['newest'])
    expect(await openIn('genesis-block', { keys: [], genesis })).toEqual(['newest'])
  })

  it('is the membership of the node behind an agent, and its key unless it was given', async () => {
    expect(await openIn('agent-descriptor', { keys: [] })).toEqual(['node_key', 'network', 'node_membership'])
    expect(await openIn('agent-descriptor')).toEqual(['network', 'node_membership'])
  })

  it('is who wrote a recognition policy', async () => {
    expect(await openIn('recognition-policy')).toEqual(['authorship'])
  })

  it('is a revocation of everything that can be revoked, and the network where no genesis block was given', async () => {
    expect(await openIn('join-certificate')).toEqual(['network', 'revocation'])
    expect(await openIn('join-certificate', { keys: [], genesis })).toEqual(['revocation'])
    for (const kind of ['membership-attestation', 'recognition-treaty'] as const)
      expect(await openIn(kind), kind).toContain('revocation')
    for (const kind of ['boundary-decision', 'justification-proof', 'execution-evidence'] as const)
      expect(await openIn(kind), kind).toContain('basis')
  })
})

describe('every pair of kinds', () => {
  /** Signed bytes of a counter and of the record made from it are the same by design (protocol/trust-operations 3.4). */
  const SAME_BYTES = [['agreement-record', 'capability-counter']]
  const pairs = EXAMPLES.flatMap((example) => RECORD_KINDS.map((as) => ({ example, as })))
    .filter(({ example, as }) => example.kind !== as)
    .filter(({ example, as }) => !SAME_BYTES.some(([of, like]) => of === example.kind && like === as))

  it(`is detected: none of ${pairs.length} records passes for one of another kind`, async () => {
    const passing: string[] = []
    for (const { example, as } of pairs)
      if ((await verifyRecordOfKind(as, example.record, example.trust)).ok) passing.push(`${example.kind} as ${as}`)
    expect(passing).toEqual([])
  })

  it('mixed into one record is recognised as neither', () => {
    const mixed: string[] = []
    for (const a of EXAMPLES)
      for (const b of EXAMPLES) {
        const kind = detectRecordKind({ ...a.record, ...b.record })
        if (a.kind !== b.kind && kind !== undefined) mixed.push(`${a.kind} with ${b.kind} is taken for ${kind}`)
      }
    // Where the members of one kind are all members of the other, the larger one is what it is.
    expect(mixed.toSorted()).toEqual([
      'agreement-record with capability-counter is taken for agreement-record',
      'boundary-policy with policy-manifest is taken for boundary-policy',
      'capability-counter with agreement-record is taken for agreement-record',
      'data-license-policy with policy-manifest is taken for data-license-policy',
      'policy-manifest with boundary-policy is taken for boundary-policy',
      'policy-manifest with data-license-policy is taken for data-license-policy',
    ])
  })

  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['an answer that holds a record', { attestation: exampleOf('membership-attestation').record, status: 'active' }],
    ['a context', { context_id: 'c', agreement_id: 'a', attestation_id: 'a' }],
  ])('%s is recognised as nothing', (_name, value) => {
    expect(detectRecordKind(value)).toBeUndefined()
  })
})

describe('time', () => {
  it.each([
    ['join-certificate', 'expired'],
    ['crl', 'expired'],
    ['agent-descriptor', 'expired'],
    ['membership-attestation', 'expired'],
    ['recognition-treaty', 'expired'],
    ['capability-offer', 'expired'],
    ['agreement-record', 'expired'],
    ['boundary-decision', 'decision_expired'],
    ['boundary-policy', 'expired'],
    ['freshness-proof', 'expired'],
    ['capability-nullifier', 'expired'],
    ['consensus-proof', 'expired'],
    ['data-license-policy', 'expired'],
    ['data-access-intent', 'expired'],
  ] as const)('%s ends', async (kind, reason) => {
    const example = exampleOf(kind)
    expect(await reasonOf(example, { now: example.trust.now + 3650n * DAY })).toBe(reason)
  })

  it.each(['join-certificate', 'membership-attestation', 'boundary-policy', 'capability-commitment'] as const)(
    '%s does not hold before it begins',
    async (kind) => {
      const example = exampleOf(kind)
      expect(await reasonOf(example, { now: example.trust.now - 3650n * DAY })).toBe('not_yet_valid')
    },
  )
})

describe('a time that cannot be meant', () => {
  const { record, trust } = exampleOf('boundary-decision')

  it.each<[string, unknown, string]>([
    ['seconds', trust.now / 1_000_000n, 'this looks like seconds'],
    ['milliseconds', trust.now / 1000n, 'this looks like milliseconds'],
    ['milliseconds in a number', Number(trust.now / 1000n), 'this looks like milliseconds in a number'],
    ['microseconds in a number', Number(trust.now), 'this looks like microseconds in a number'],
    ['nanoseconds', trust.now * 1000n, 'this looks like nanoseconds'],
    ['zero', 0n, 'bigint of microseconds'],
    ['nothing', undefined, 'bigint of microseconds'],
    ['a text', '2027-03-04T05:06:30Z', 'bigint of microseconds'],
    ['half a number', 0.5, 'bigint of microseconds'],
  ])('%s is an error and no verdict', async (_name, now, words) => {
    const result = verifyRecordOfKind('boundary-decision', record, { ...trust, now: now as bigint })
    await expect(result).rejects.toThrow(words)
    await expect(result).rejects.toMatchObject({ name: 'InstantError' })
  })
})

describe('a genesis block as trust input', () => {
  const genesis = readGenesisBlock(exampleOf('genesis-block').record)
  const of = async (kind: RecordKindName): Promise<string> => reasonOf(exampleOf(kind), { keys: [], genesis })

  it('stands for the key of its authority, in the name of its network only', async () => {
    for (const kind of ['join-certificate', 'crl', 'policy-manifest', 'recognition-treaty'] as const)
      expect(await of(kind), kind).toBe('valid')
    expect(await of('membership-attestation')).toBe('invalid_signature')
    const other = { ...genesis, network_name: 'OTHER-NET' }
    expect(await reasonOf(exampleOf('join-certificate'), { keys: [], genesis: other })).toBe('wrong_issuer')
    expect(await reasonOf(exampleOf('recognition-treaty'), { keys: [], genesis: other })).toBe('wrong_issuer')
  })

  it('recognises the next block of the same root', async () => {
    expect(await of('genesis-block')).toBe('valid')
    const root_public_key = genesis.network_authority.public_key
    expect(await reasonOf(exampleOf('genesis-block'), { keys: [], genesis: { ...genesis, root_public_key } })).toBe(
      'unknown_root_key',
    )
  })
})

describe('a record without its form', () => {
  it('is malformed, and the place is named', async () => {
    const { record, trust } = exampleOf('crl')
    expect(await verifyRecordOfKind('crl', { ...record, sequence: '1' }, trust)).toEqual({
      ok: false,
      reason: 'malformed',
      problem: 'sequence: an integer is needed',
    })
  })
})
