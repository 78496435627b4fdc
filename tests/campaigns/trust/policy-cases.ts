import { FloatNumber, type ForeignObject, type ForeignValue } from '@chancery/testkit'
import type { ReferenceGate, ReferencePolicy, ReferenceQuestion } from './policy-reference.ts'
import type { Random } from '../lib/random.ts'

/** Few values and names, including difficult ones, so that policies and requests often match. */
const NUMBERS: readonly [ForeignValue, ...ForeignValue[]] = [
  0,
  1,
  -1,
  10,
  1000,
  9007199254740993n,
  9007199254740992n,
  18446744073709551615n,
  -9223372036854775808n,
  new FloatNumber(1),
  new FloatNumber(-0),
  new FloatNumber(0.5),
  new FloatNumber(10.25),
  new FloatNumber(9007199254740992),
  new FloatNumber(1.8446744073709552e19),
  new FloatNumber(5e-324),
  new FloatNumber(1e300),
]
const SINGLES: readonly [ForeignValue, ...ForeignValue[]] = ['a', 'b', '1', 'true', '', 'Grüße 😀', true, false, null]
const CAPABILITIES = ['secret', 'secret.rotate', 'secret.rotate.now', 'secrets.x', 'pay'] as const
const PATTERNS = ['secret.*', 'secret.rotate.*', 'secret', 'secret.rotate', 'pay', 'none'] as const
const IDS = ['p', 'p.a', 'p-b', 'P', 'q:1', 'z'] as const
const KEYS = ['v', 'w', 'deep', '__proto__', 'constructor'] as const
const PATHS = [
  'request_parameters.v',
  'request_parameters.w',
  'request_parameters.deep.v',
  'request_parameters.deep.deep.w',
  'request_parameters.__proto__.v',
  'request_parameters.constructor',
  'attributes.v',
  'requested_capability',
  'requester_sovereign_id',
  'parent_kind',
  'context_freshness_seq',
  'requested_at',
  'attestation.subject_id',
  'attestation.roles',
  'attestation.claims.v',
  'attestation.claims.deep.v',
] as const
const TYPES = [
  'required_parameter.v1',
  'max_value.v1',
  'min_value.v1',
  'allowlist.v1',
  'denylist.v1',
  'boolean_required.v1',
  'scope_membership.v1',
  'time_window.v1',
  'attestation_claim.v1',
] as const
const PROBLEMS = [
  'policy_store_integrity_failed',
  'policy_signature_invalid',
  'gate_type_unavailable',
  'policy_invalid',
] as const

const HOUR = 3_600_000_000n
/** A time in the years 2026 and 2027, in microseconds. */
const START = 1_767_225_600_000_000n

export function makeQuestion(random: Random): ReferenceQuestion {
  const now = START + BigInt(random.below(17_000)) * HOUR + BigInt(random.below(4)) * 500_000n
  const policies = Array.from({ length: random.below(4) }, () => makePolicy(random, now))
  const hasAttestation = random.chance(50)
  const attestation = hasAttestation
    ? { subject_id: random.pick(['a', 'vendor']), roles: makeRoles(random), claims: makeClaims(random) }
    : undefined
  const context = {
    context_id: 'context',
    agreement_id: random.pick(['agreement', 'other']),
    parent_kind: hasAttestation ? 'attestation' : random.pick(['direct', 'agreement', 'delegation']),
    requester_sovereign_id: random.pick(['a', 'bolt-net']),
    provider_sovereign_id: random.pick(['acme-net', 'b']),
    requested_capability: random.pick(CAPABILITIES),
    request_parameters: makeObject(random, 3),
    requested_at: timeText(now),
    context_freshness_seq: random.below(3),
    attributes: makeObject(random, 1),
  }
  const capabilities = random.chance(90) ? [...CAPABILITIES] : ['pay']
  return { policies, context, attestation, terms: { capabilities, commitment: random.chance(90) ? 0 : 1 }, now }
}

function timeText(micros: bigint): string {
  const text = new Date(Number(micros / 1000n)).toISOString().slice(0, 19)
  const rest = micros % 1_000_000n
  return rest === 0n ? `${text}Z` : `${text}.${String(rest).padStart(6, '0')}Z`
}

function makePolicy(random: Random, now: bigint): ReferencePolicy {
  const from = random.chance(90) ? now - BigInt(random.below(3)) * HOUR : now + 1n
  const until = from + (random.chance(93) ? 10_000n * HOUR : 1n)
  const gates = Array.from({ length: 1 + random.below(4) }, (_, index) => makeGate(random, index))
  const selector = makeSelector(random)
  const [policy_id, version] = [random.pick(IDS), 1 + random.below(3)]
  const record = {
    policy_id,
    version,
    description: random.pick(['', 'a', 'Grüße 😀']),
    valid_from: timeText(from),
    valid_until: timeText(until),
    selector,
    gates: gates.map((gate) => ({ ...gate, disclose_input: random.chance(20) })),
    issued_at: timeText(from),
    issued_by: 'na-key-1',
    issuer_sovereign_id: 'acme-net',
    signature: { key_id: 'na-key-1', sig: 'not asked for here' },
  }
  const problem = random.chance(3) ? random.pick(PROBLEMS) : undefined
  return { record, policy_id, version, gates, selector, from, until, problem }
}

function makeSelector(random: Random): ForeignObject {
  const some = <Item>(items: readonly [Item, ...Item[]], percent: number): Item[] =>
    random.chance(percent) ? Array.from({ length: 1 + random.below(2) }, () => random.pick(items)) : []
  const parameters = random.chance(15)
    ? { [random.pick(PATHS)]: Array.from({ length: 1 + random.below(3) }, () => makeSingle(random)) }
    : {}
  return {
    capabilities: some(PATTERNS, 40),
    requester_sovereign_ids: some(['a', 'bolt-net'], 10),
    provider_sovereign_ids: some(['acme-net', 'b'], 10),
    agreement_ids: some(['agreement', 'other'], 10),
    parent_kinds: some(['direct', 'agreement', 'attestation'], 15),
    parameter_equals: parameters,
  }
}

function makeGate(random: Random, index: number): ReferenceGate {
  const gate_type = random.pick(TYPES)
  return {
    gate_id: `g${index}`,
    gate_type,
    // Not in the written order.
    order: (index * 7 + random.below(7)) ^ 5,
    mode: random.chance(80) ? 'enforce' : 'observe',
    config: makeConfig(random, gate_type),
  }
}

function makeConfig(random: Random, type: (typeof TYPES)[number]): ForeignObject {
  const path = random.pick(PATHS)
  const flag = (name: string): ForeignObject => (random.chance(50) ? { [name]: random.chance(50) } : {})
  const singles = (): ForeignValue[] => Array.from({ length: 1 + random.below(4) }, () => makeSingle(random))
  switch (type) {
    case 'required_parameter.v1':
      return { path }
    case 'max_value.v1':
      return { path, max: random.pick(NUMBERS), ...flag('inclusive') }
    case 'min_value.v1':
      return { path, min: random.pick(NUMBERS), ...flag('inclusive') }
    case 'allowlist.v1':
    case 'denylist.v1':
      return { path, values: singles() }
    case 'boolean_required.v1':
      return { path, ...flag('expected') }
    case 'scope_membership.v1':
      return { path, allowed: ['a', 'b', '1'].slice(0, 1 + random.below(3)) }
    case 'attestation_claim.v1':
      return { path, claim: random.pick(['v', 'w', 'deep', '__proto__']) }
    case 'time_window.v1':
      return makeWindow(random)
  }
}

function makeWindow(random: Random): ForeignObject {
  const weekdays = [1, 2, 3, 4, 5, 6, 7].filter(() => random.chance(60))
  const start = random.below(24)
  const at = START + BigInt(random.below(17_000)) * HOUR
  return {
    ...(random.chance(40) ? { not_before: timeText(at) } : {}),
    ...(random.chance(40) ? { not_after: timeText(at + 3000n * HOUR) } : {}),
    weekdays: weekdays.length === 0 ? [3] : weekdays,
    ...(random.chance(50) ? { utc_hour_start: start, utc_hour_end: start + 1 + random.below(24 - start) } : {}),
  }
}

function makeSingle(random: Random): ForeignValue {
  return random.chance(50) ? random.pick(NUMBERS) : random.pick(SINGLES)
}

function makeList(random: Random): ForeignValue[] {
  return Array.from({ length: random.below(3) }, () =>
    random.chance(80) ? random.pick(['a', 'b']) : makeSingle(random),
  )
}

function makeRoles(random: Random): string[] {
  return ['a', 'b', '1'].filter(() => random.chance(50))
}

function makeClaims(random: Random): ForeignObject {
  const claims = makeObject(random, 2) as Record<string, ForeignValue>
  if (random.chance(95)) claims['capabilities'] = random.chance(93) ? [...CAPABILITIES] : makeList(random)
  return claims
}

/** Includes names of the JavaScript object prototype, which must be ordinary names. */
function makeObject(random: Random, depth: number): ForeignObject {
  const out = Object.create(null) as Record<string, ForeignValue>
  for (const name of KEYS) {
    if (!random.chance(name === 'v' ? 80 : 30)) continue
    if (depth > 0 && (name === 'deep' || name === '__proto__')) out[name] = makeObject(random, depth - 1)
    else out[name] = random.chance(75) ? makeSingle(random) : makeList(random)
  }
  return out
}
