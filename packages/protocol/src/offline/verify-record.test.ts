import { describe, expect, it } from 'vitest'
import { readGenesisBlock } from '../artifacts/genesis-block.ts'
import type { JsonObject } from '../canonical/json-value.ts'
import { DAY } from '../canonical/time.ts'
import { EXAMPLES } from './examples.suite.ts'
import type { Example } from './examples.suite.ts'
import { RECORD_KINDS, recogniseRecord } from './recognise.ts'
import type { RecordKindName } from './recognise.ts'
import { verifyRecord } from './verify-record.ts'

function exampleOf(kind: RecordKindName): Example {
  const found = EXAMPLES.find((example) => example.kind === kind)
  if (found === undefined) throw new TypeError(`no example of ${kind}`)
  return found
}

async function reasonOf({ kind, record, ground }: Example, changes: Partial<Example['ground']> = {}): Promise<string> {
  const verdict = await verifyRecord(kind, record, { ...ground, ...changes })
  return verdict.ok ? 'valid' : verdict.reason
}

const SELF_SIGNED: readonly RecordKindName[] = ['genesis-block', 'agent-descriptor', 'recognition-policy']

describe('a record of every kind', () => {
  it('is among the examples', () => {
    expect(EXAMPLES.map(({ kind }) => kind).toSorted()).toEqual(RECORD_KINDS.toSorted())
  })

  it.each(EXAMPLES)('$kind is recognised and holds', async (example) => {
    expect(recogniseRecord(example.record)).toBe(example.kind)
    expect(await reasonOf(example)).toBe('valid')
  })

  it.each(EXAMPLES.filter(({ kind }) => kind !== 'recognition-policy'))(
    '$kind does not hold under the key of somebody else, nor unsigned',
    async (example) => {
      const stranger = 'GBrrHJtgVIR4IT8ZhA8LPEh0NaBYkLwijVy/j5+LyHI='
      expect(await reasonOf(example, { keys: [stranger] })).not.toBe('valid')
      if (example.kind === 'capability-membership-proof') return
      const { signature: _one, signatures: _many, ...unsigned } = example.record
      expect(await reasonOf({ ...example, record: unsigned })).toMatch(/^missing_(offerer_)?signature$/)
    },
  )

  it.each(EXAMPLES.filter(({ kind }) => !SELF_SIGNED.includes(kind)))(
    '$kind needs a key from somebody who is trusted',
    async (example) => {
      expect(await reasonOf(example, { keys: [] })).toBe('keys_needed')
    },
  )
})

describe('every pair of kinds', () => {
  /** Signed bytes of a counter and of the record made from it are the same by design (protocol/trust-operations 3.4). */
  const SAME_BYTES = [['agreement-record', 'capability-counter']]
  const pairs = EXAMPLES.flatMap((example) => RECORD_KINDS.map((as) => ({ example, as })))
    .filter(({ example, as }) => example.kind !== as)
    .filter(({ example, as }) => !SAME_BYTES.some(([of, like]) => of === example.kind && like === as))

  it(`is told apart: none of ${pairs.length} records passes for one of another kind`, async () => {
    const passing: string[] = []
    for (const { example, as } of pairs)
      if ((await verifyRecord(as, example.record, example.ground)).ok) passing.push(`${example.kind} as ${as}`)
    expect(passing).toEqual([])
  })

  it('mixed into one record is recognised as neither', () => {
    const mixed: string[] = []
    for (const a of EXAMPLES)
      for (const b of EXAMPLES) {
        const kind = recogniseRecord({ ...a.record, ...b.record })
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
    expect(recogniseRecord(value)).toBeUndefined()
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
    expect(await reasonOf(example, { now: example.ground.now + 3650n * DAY })).toBe(reason)
  })

  it.each(['join-certificate', 'membership-attestation', 'boundary-policy', 'capability-commitment'] as const)(
    '%s does not hold before it begins',
    async (kind) => {
      const example = exampleOf(kind)
      expect(await reasonOf(example, { now: example.ground.now - 3650n * DAY })).toBe('not_yet_valid')
    },
  )
})

describe('a genesis block as ground', () => {
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
    const { record, ground } = exampleOf('crl')
    expect(await verifyRecord('crl', { ...record, sequence: '1' }, ground)).toEqual({
      ok: false,
      reason: 'malformed',
      problem: 'sequence: an integer is needed',
    })
  })
})
