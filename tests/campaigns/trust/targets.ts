import { canonicalJson, isJsonObject, readJson, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue, RecordKindName } from '@chancery/protocol'
import {
  accepted,
  FloatNumber,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  foreignTreaty,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestAuthority } from '@chancery/testkit'
import { type Example, EXAMPLES } from '../../../packages/protocol/src/offline/examples.suite.ts'
import type { Random } from '../lib/random.ts'

/** One worked example, the part of it that is proved, and the routes that verify it. */
export interface Target extends Example {
  /**
   * The proved part as canonical text; a change of it must be detected. Another text of the same part is the same
   * record.
   */
  partOf(record: JsonValue): string
  readonly routes: readonly Route[]
}

export interface Route {
  readonly path: string
  /** Only an operator may call it. */
  readonly isOperators?: true
  /** Returns the request body with the text of a record. */
  bodyOf(text: string): string
}

/** The signed bytes of these two are a fixed list (protocol/trust-operations 3.4); the other members are not signed. */
const AGREED = [
  'agreed_terms',
  'graph_digest',
  'offer_id',
  'offerer_evidence',
  'offerer_sovereign_id',
  'responder_evidence',
  'responder_sovereign_id',
]

/** Default values of members in protocol/core: leaving out a member with its default is the same record. */
const DEFAULTS: Partial<Record<RecordKindName, JsonObject>> = {
  'genesis-block': {
    allowed_crypto_suites: ['ed25519', 'x25519'],
    allowed_transports: ['quic', 'wireguard'],
    bootstrap_anchors: [],
    policy_manifest: { url: null },
  },
  crl: { revoked_certificates: [] },
  'policy-manifest': {
    min_client_version: '0.1.0',
    allowed_ports: [443, 8443],
    allowed_services: [],
    routing: { preferred_transports: ['quic', 'wireguard'], max_hops: 6 },
  },
  'agent-descriptor': { capabilities: [], endpoint: { scheme: 'ws' }, metadata: {} },
  'membership-attestation': { subject_public_key: null, roles: [], status: 'active', claims: {} },
  'recognition-treaty': {
    scope: { allowed_roles: [], accepted_statuses: ['active'], claims: {} },
    status: 'active',
    metadata: {},
  },
  'sovereign-revocation-feed': { revoked_attestation_ids: [], revocation_reasons: {} },
}

export function makeTargets(): readonly Target[] {
  // A recognition policy has no signature, so every well-formed one is valid.
  return EXAMPLES.filter(({ kind }) => kind !== 'recognition-policy').map((example) => ({
    ...example,
    partOf: (record) => provedText(example.kind, record),
    routes: [routeOf(example.kind) ?? []].flat(),
  }))
}

/** The proved part of a record of this kind, as canonical text. */
function provedText(kind: RecordKindName, record: JsonValue): string {
  return canonicalJson(provedPart(kind, record))
}

function provedPart(kind: RecordKindName, record: JsonValue): JsonValue {
  if (!isJsonObject(record)) return record
  const { signature: _one, signatures: _many, ...rest } = record
  if (kind === 'agreement-record' || kind === 'capability-counter') return pick(record, AGREED)
  if (kind !== 'capability-membership-proof') return filled(rest, DEFAULTS[kind] ?? {})
  // Unsigned: only the path to the root proves anything, and of a step only these two members are read.
  const { merkle_path: path, ...proof } = pick(rest, [
    'commitment_id',
    'revealed_capability',
    'leaf_hash',
    'merkle_path',
  ])
  const steps = Array.isArray(path)
    ? (path as readonly JsonValue[]).map((step) =>
        isJsonObject(step) ? pick(step, ['sibling_hash', 'is_left']) : step,
      )
    : path
  return { ...proof, merkle_path: steps ?? [] }
}

function pick(record: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (name in record ? [[name, record[name] ?? null]] : [])))
}

function filled(record: JsonObject, defaults: JsonObject): JsonObject {
  const inner = Object.entries(defaults).map(([name, value]): [string, JsonValue] => {
    const given = Object.hasOwn(record, name) ? record[name] : undefined
    if (given === undefined) return [name, value]
    return [name, isJsonObject(given) && isJsonObject(value) ? filled(given, value) : given]
  })
  return { ...record, ...Object.fromEntries(inner) }
}

function exampleOf(kind: RecordKindName): Example {
  const found = EXAMPLES.find((example) => example.kind === kind)
  if (found === undefined) throw new TypeError(`no example of ${kind}`)
  return found
}

function textOf(kind: RecordKindName): string {
  return writeJson(exampleOf(kind).record)
}

/** Public routes that verify such a record, with the keys of its example. */
function routeOf(kind: RecordKindName): Route | undefined {
  const { trust } = exampleOf(kind)
  const keys = writeJson(trust.keys)
  const body = (path: string, member: string, more: string): Route => ({
    path,
    bodyOf: (text) => `{"${member}":${text},${more}}`,
  })
  switch (kind) {
    case 'trust-evidence':
      return body('/trust-evidence/verify', 'evidence', `"issuer_public_keys":${keys}`)
    case 'agreement-record':
      return body('/agreements/verify', 'agreement', `"offerer_public_keys":${keys},"responder_public_keys":${keys}`)
    case 'boundary-decision':
      return body('/boundary/verify', 'decision', `"operator_public_keys":${keys}`)
    case 'boundary-policy':
      return body('/boundary-policies/verify', 'policy', `"issuer_public_keys":${keys}`)
    case 'capability-commitment':
      return body(
        '/disclosure/verify',
        'commitment',
        `"proof":${textOf('capability-membership-proof')},"issuer_public_keys":${keys}`,
      )
    case 'capability-membership-proof':
      return body(
        '/disclosure/verify',
        'proof',
        `"commitment":${textOf('capability-commitment')},"issuer_public_keys":${keys}`,
      )
    case 'consensus-proof': {
      const validators = writeJson(Object.fromEntries(trust.validatorKeys))
      return body('/consensus/verify', 'proof', `"validator_public_keys":${validators},"assembler_public_keys":${keys}`)
    }
    case 'data-license-policy': {
      const agents = writeJson(exampleOf('data-access-intent').trust.keys)
      const intent = textOf('data-access-intent')
      return body(
        '/data-usage/verify',
        'policy',
        `"intent":${intent},"agent_public_keys":${agents},"policy_public_keys":${keys}`,
      )
    }
    case 'data-access-intent':
      return body(
        '/data-usage/verify',
        'intent',
        `"policy":${textOf('data-license-policy')},"agent_public_keys":${keys}`,
      )
    default:
      return undefined
  }
}

/** Returns the value of a text, or undefined when it is not JSON. */
export function tryRead(text: string): JsonValue | undefined {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

const partner = foreignSovereign('PARTNER-NET')
const third = foreignSovereign('THIRD-NET')
const ROLES = ['role:client', 'role:guest']

/** Records of a partner that independent code signed, with every member and unusual claims. */
export async function foreignTargets(na: TestAuthority, random: Random): Promise<readonly Target[]> {
  const now = na.core.clock.now()
  const ownTreaty = await recognise(na)
  const claims = {
    limit: new FloatNumber(90),
    whole: 90,
    note: `Zoë ${random.next()}`,
    list: ['a', 1, null, true],
    deep: { '\u{1f600}': 2, '\ue000': 1 },
  }
  const attestation = foreignAttestation(partner, now, {
    subject_public_key: third.publicKey,
    roles: ROLES,
    claims,
  })
  const treaty = foreignTreaty(partner, third, now, {
    subject_public_keys: [third.publicKey, partner.publicKey],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active', 'suspended'], claims },
    metadata: claims,
  })
  const entry = { sovereign_id: 'PARTNER-NET', public_keys: [partner.publicKey], allowed_roles: ROLES }
  const policy = writeJson({ local_sovereign_id: 'TEST-NET', recognized_issuers: [entry] })
  const member = wireText(foreignAttestation(third, now))
  const keys = writeJson([partner.publicKey])
  const target = (kind: RecordKindName, record: ForeignObject, routes: readonly Route[]): Target => ({
    kind,
    record: readJson(wireText(record)) as JsonObject,
    trust: { keys: [partner.publicKey], validatorKeys: new Map(), now },
    partOf: (value) => provedText(kind, value),
    routes,
  })
  const route = (path: string, bodyOf: Route['bodyOf']): Route => ({ path, bodyOf })
  return [
    target('membership-attestation', attestation, [
      route('/attestations/verify', (text) => `{"attestation":${text},"recognition_policy":${policy}}`),
      route('/attestations/verify-with-treaty', (text) => `{"attestation":${text},"treaty":${ownTreaty}}`),
    ]),
    target('recognition-treaty', treaty, [
      route('/recognition-treaties/verify', (text) => `{"treaty":${text},"issuer_public_keys":${keys}}`),
      route('/recognition-treaties/verify', (text) => `{"treaty":${text}}`),
      route(
        '/attestations/verify-with-treaty',
        (text) => `{"attestation":${member},"treaty":${text},"treaty_issuer_public_keys":${keys}}`,
      ),
    ]),
    feedTarget(target),
  ]
}

/** An accepted feed uses its sequence, so the unchanged feed is sent with the sequence before. */
function feedTarget(target: (kind: RecordKindName, record: ForeignObject, routes: readonly Route[]) => Target): Target {
  const ids = ['a-1', 'b-ë', 'c-\ue000', 'c-\u{1f600}']
  const reasons = { revocation_reasons: { 'a-1': 'left', 'c-\u{1f600}': 'grüße' } }
  const [untouched, record] = [1, 2].map((sequence) => foreignFeed(partner, sequence, ids, reasons)) as [
    ForeignObject,
    ForeignObject,
  ]
  const unchanged = writeJson(readJson(wireText(record)))
  return target('sovereign-revocation-feed', record, [
    {
      path: '/admin/sovereign-revocation-feeds/import',
      isOperators: true,
      bodyOf: (text) => `{"feed":${text === unchanged ? wireText(untouched) : text}}`,
    },
  ])
}

/** The text of the treaty by which the authority recognises the partner. */
async function recognise(na: TestAuthority): Promise<string> {
  const scope = { allowed_roles: ROLES, accepted_statuses: ['active'] }
  const body = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], scope }
  const answer = await na.as('privileged')('POST', '/admin/recognition-treaties', body)
  accepted(answer, 201)
  return answer.text
}
