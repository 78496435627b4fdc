import { beforeAll, describe, expect, it } from 'vitest'
import {
  accessIntentForm,
  draftDataAccessIntent,
  draftDataLicensePolicy,
  licensePolicyForm,
} from '../artifacts/data-access-intent.ts'
import type { DataAccessIntent, DataLicensePolicy, DeclaredSource } from '../artifacts/data-access-intent.ts'
import { toBase64 } from '../canonical/base64.ts'
import { DAY, HOUR, seconds } from '../canonical/time.ts'
import { asJson } from '../signing/verify-any.ts'
import { signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { type UsageTrust, readDataAccessIntent, readDataLicensePolicy, verifyDataUsage } from './verify-usage.ts'

const NOW = 1_893_456_000_000_000n
let agent: Signer
let licensor: Signer
beforeAll(async () => {
  agent = await seedSigner('agent', toBase64(new Uint8Array(32).fill(1)))
  licensor = await seedSigner('licensor', toBase64(new Uint8Array(32).fill(2)))
})

const source = (changes: Partial<DeclaredSource> = {}): DeclaredSource => ({
  source_id: 'src-1',
  source_type: 'public',
  owner_sovereign_id: 'acme-net',
  classification_tags: [],
  ...changes,
})

function intent(changes: Partial<DataAccessIntent> = {}): Promise<DataAccessIntent> {
  const draft = draftDataAccessIntent({
    intent_id: 'i-1',
    agent_sovereign_id: 'bolt-net',
    decision_id: 'd-1',
    declared_sources: [source()],
    declared_access_types: ['read'],
    estimated_volume_bytes: 100,
    now: NOW,
  })
  return signForm(accessIntentForm, { ...draft, ...changes }, agent)
}

function license(changes: Partial<DataLicensePolicy> = {}): Promise<DataLicensePolicy> {
  const draft = draftDataLicensePolicy({
    policy_id: 'l-1',
    licensor_sovereign_id: 'acme-net',
    licensee_sovereign_id: 'bolt-net',
    allowed_source_ids: ['src-1', 'src-2'],
    allowed_access_types: ['read', 'derive'],
    max_volume_bytes_per_session: 1000,
    prohibited_classification_tags: ['health', 'minors'],
    validFrom: NOW - HOUR,
    validUntil: NOW + DAY,
  })
  return signForm(licensePolicyForm, { ...draft, ...changes }, licensor)
}

async function types(
  declared: DataAccessIntent,
  policy: DataLicensePolicy,
  changes: Partial<UsageTrust> = {},
): Promise<string[]> {
  const trust = { agentKeys: [agent.publicKey], policyKeys: [], now: NOW, ...changes }
  const [a, b] = [readDataAccessIntent(asJson(declared)), readDataLicensePolicy(asJson(policy))]
  return (await verifyDataUsage(a, b, trust)).map(({ type }) => type)
}

describe('verifyDataUsage (protocol/trust-operations 9.3)', () => {
  it('finds nothing in an intent that keeps to its license', async () => {
    expect(await types(await intent(), await license())).toEqual([])
  })

  it('checks nothing in an unproved record', async () => {
    const bad = { declared_sources: [source({ source_id: 'other' })] }
    const exceeds = ['intent_exceeds_license']
    const policy = await license()
    expect(await types({ ...(await intent(bad)), signature: null }, policy)).toEqual(exceeds)
    expect(await types(await intent(bad), policy, { agentKeys: [licensor.publicKey] })).toEqual(exceeds)
    expect(await types({ ...(await intent(bad)), decision_id: 'x' }, policy)).toEqual(exceeds)
    expect(await types(await intent({ ...bad, extra: 1 } as Partial<DataAccessIntent>), policy)).toEqual(exceeds)
    const unknown = { extra: 1 } as Partial<DataLicensePolicy>
    expect(await types(await intent(bad), await license(unknown))).toEqual(exceeds)
  })

  it('asks for the licensor’s signature wherever a key is known, under each list', async () => {
    const [declared, policy] = [await intent(), await license()]
    const unsigned = { ...policy, signature: null }
    const known = [licensor.publicKey]
    expect(await types(declared, unsigned)).toEqual([])
    expect(await types(declared, policy, { policyKeys: [known] })).toEqual([])
    expect(await types(declared, unsigned, { policyKeys: [known] })).toEqual(['intent_exceeds_license'])
    expect(await types(declared, policy, { policyKeys: [known, [agent.publicKey]] })).toEqual([
      'intent_exceeds_license',
    ])
  })

  it('holds both records to their time', async () => {
    const [declared, policy] = [await intent(), await license()]
    expect(await types(declared, policy, { now: NOW + seconds(300) })).toEqual([])
    expect(await types(declared, policy, { now: NOW + seconds(300) + 1n })).toEqual(['intent_expired'])
    expect(await types(declared, policy, { now: NOW - HOUR })).toEqual([])
    expect(await types(declared, policy, { now: NOW - HOUR - 1n })).toEqual(['policy_expired'])
    expect(await types(declared, policy, { now: NOW + DAY })).toEqual(['intent_expired'])
    expect(await types(declared, policy, { now: NOW + DAY + 1n })).toEqual(['intent_expired', 'policy_expired'])
  })

  it.each<[string, Partial<DataAccessIntent>, Partial<DataLicensePolicy>, string[]]>([
    ['an unlicensed source', { declared_sources: [source({ source_id: 'x' })] }, {}, ['source_not_licensed']],
    ['a license of nothing', {}, { allowed_source_ids: [] }, ['source_not_licensed']],
    [
      'a prohibited tag, reported once per source',
      { declared_sources: [source({ classification_tags: ['minors', 'health'] })] },
      {},
      ['prohibited_classification'],
    ],
    ['another access', { declared_access_types: ['read', 'train'] }, {}, ['access_type_not_permitted']],
    ['reading, when nothing is named', {}, { allowed_access_types: [] }, []],
    [
      'deriving, when nothing is named',
      { declared_access_types: ['derive'] },
      { allowed_access_types: [] },
      ['access_type_not_permitted'],
    ],
    ['the cap itself', { estimated_volume_bytes: 1000 }, {}, []],
    ['a byte more', { estimated_volume_bytes: 1001 }, {}, ['volume_cap_exceeded']],
    ['no estimate', { estimated_volume_bytes: null }, {}, []],
    ['no cap', { estimated_volume_bytes: 1e12 }, { max_volume_bytes_per_session: null }, []],
    ['another licensee', { agent_sovereign_id: 'other-net' }, {}, []],
  ])('%s', async (_name, declared, policy, expected) => {
    expect(await types(await intent(declared), await license(policy))).toEqual(expected)
  })

  it('collects everything, source by source', async () => {
    const declared = await intent({
      declared_sources: [source({ source_id: 'x', classification_tags: ['health'] }), source({ source_id: 'y' })],
      declared_access_types: ['train', 'write'],
      estimated_volume_bytes: 9999,
    })
    expect(await types(declared, await license(), { now: NOW + 2n * DAY })).toEqual([
      'intent_expired',
      'policy_expired',
      'source_not_licensed',
      'prohibited_classification',
      'source_not_licensed',
      'access_type_not_permitted',
      'access_type_not_permitted',
      'volume_cap_exceeded',
    ])
  })
})
