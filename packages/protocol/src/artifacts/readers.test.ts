// oxlint-disable max-lines -- one table of records with the wrong values of each field
import { describe, expect, it } from 'vitest'
import { JsonFloat, type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { readJson } from '../canonical/read-json.ts'
import { FormError } from '../reading/schema.ts'
import { seedSigner } from '../signing/keys.ts'
import { type SignedList, signList, verifyList } from '../signing/verify-any.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { readAgentDescriptor } from './agent-descriptor.ts'
import { readAttestation, readRecognitionPolicy } from './attestation.ts'
import { readCrl } from './crl.ts'
import { readGenesisBlock } from './genesis-block.ts'
import { readJoinCertificate } from './join-certificate.ts'
import { readPolicyManifest } from './policy-manifest.ts'
import { readRecognitionTreaty } from './recognition-treaty.ts'
import { readRevocationFeed } from './revocation-feed.ts'

type Place = string
type Type = 'string' | 'integer' | 'array' | 'object'

/** One member as the table of its record describes it. */
interface Field {
  readonly type: Type
  readonly isNullable?: boolean
  /** What signed bytes hold when it is left out; required without it. */
  readonly absent?: JsonValue
  /** Values on the near side of every bound … */
  readonly good?: readonly JsonValue[]
  /** … and just beyond. */
  readonly bad?: readonly JsonValue[]
}

interface Artifact {
  readonly name: string
  readonly read: (value: JsonValue) => object
  /** Every member, nested ones too. */
  readonly whole: JsonObject
  /** By dotted place, for example `routing.max_hops` or `recognized_issuers.0.public_keys`. */
  readonly fields: Readonly<Record<Place, Field>>
  /** Whole records that break a rule between members. */
  readonly conflicts?: readonly (readonly [string, (whole: JsonObject) => JsonObject])[]
}

const [KEY = '', OTHER_KEY = ''] = core.keys.map(({ public_key }) => public_key)
const SIGNATURE = core.signed[0]?.signature ?? ''
const FACE = '\u{1f600}'

/** Unicode is counted in code points; control characters of both blocks are none. */
function text(max: number, more: Partial<Field> = {}): Field {
  const good = ['x', FACE.repeat(max), 'ë'.repeat(max), ' a b ', '\u00a0', '"\\/<>&']
  const bad = [
    '',
    FACE.repeat(max + 1),
    'x'.repeat(max + 1),
    'a\nb',
    '\u0000',
    'a\u001f',
    '\u007f',
    'a\u0085',
    '\u009f',
  ]
  return { type: 'string', ...more, good: [...good, ...(more.good ?? [])], bad: [...bad, ...(more.bad ?? [])] }
}

const when = (good: readonly string[] = [], more: Partial<Field> = {}): Field => ({
  type: 'string',
  ...more,
  good,
  bad: [
    '',
    '2030-01-01',
    '2030-01-01 06:00:00Z',
    '2030-02-30T06:00:00Z',
    '2030-01-01T24:00:00Z',
    '20300101T060000Z',
    '2030-01-01T06:00:60Z',
    '2030-01-01T06:00:00.Z',
    '2030-01-01T06:00:00.1234567890Z',
    ' 2030-01-01T06:00:00Z',
    '2030-01-01T06:00:00+24:00',
    '1893477600',
  ],
})

const aKey = (more: Partial<Field> = {}): Field => ({
  type: 'string',
  good: [OTHER_KEY],
  bad: [
    '',
    'x',
    KEY.slice(0, -1),
    `${KEY}=`,
    `${KEY} `,
    KEY.replace(/=$/, ''),
    Buffer.alloc(32).toString('base64'),
    Buffer.alloc(31, 7).toString('base64'),
    Buffer.alloc(32, 255).toString('base64'),
  ],
  ...more,
})

const whole = (min: number, max: number, absent?: JsonValue): Field => ({
  type: 'integer',
  good: [min, max],
  bad: [min - 1, max === Number.MAX_SAFE_INTEGER ? 2n ** 53n : max + 1, new JsonFloat(min), String(min), -0.5],
  ...(absent === undefined ? {} : { absent }),
})

const list = (max: number, item: JsonValue, badItems: readonly JsonValue[], more: Partial<Field> = {}): Field => ({
  type: 'array',
  ...more,
  good: [[item], Array<JsonValue>(max).fill(item), ...(more.good ?? [])],
  bad: [Array<JsonValue>(max + 1).fill(item), ...badItems.map((bad) => [item, bad]), [[]], [null], ...(more.bad ?? [])],
})

const BAD_NAMES = ['', 'x'.repeat(129), 'a\n', 7, null, {}]
const signed = (count: number): JsonValue[] => Array.from({ length: count }, () => ({ key_id: 'k', sig: SIGNATURE }))
const SIGNATURES: Field = {
  type: 'array',
  absent: [],
  good: [[], signed(8), [{ key_id: FACE.repeat(128), sig: SIGNATURE }]],
  bad: [
    signed(9),
    [{ key_id: 'k', sig: SIGNATURE, alg: 'Ed25519' }],
    [{ sig: SIGNATURE }],
    [{ key_id: 'k' }],
    [{ key_id: '', sig: SIGNATURE }],
    [{ key_id: 'k\n', sig: SIGNATURE }],
    [{ key_id: 7, sig: SIGNATURE }],
    [{ key_id: 'k', sig: '' }],
    [{ key_id: 'k', sig: SIGNATURE.slice(0, -1) }],
    [{ key_id: 'k', sig: SIGNATURE.replace(/=+$/, '') }],
    [{ key_id: 'k', sig: `${SIGNATURE} ` }],
    [{ key_id: 'k', sig: null }],
    [SIGNATURE],
    [null],
    { key_id: 'k', sig: SIGNATURE },
  ],
}

/** Free-form objects: any names, bounded in canonical size and depth. */
function freeForm(maxBytes: number): Field {
  const sized = (bytes: number): JsonObject => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
  const nested = (depth: number): JsonValue => (depth === 0 ? {} : { a: nested(depth - 1) })
  return {
    type: 'object',
    absent: {},
    good: [{}, sized(maxBytes), nested(15), readJson('{"__proto__":1,"constructor":{},"":null,"limit":90.0}')],
    // Six bytes each in canonical form.
    bad: [sized(maxBytes + 1), nested(16), { a: 'ë'.repeat(Math.ceil(maxBytes / 6)) }],
  }
}

const STATUS = {
  type: 'string',
  absent: 'active',
  good: ['active', 'suspended', 'revoked'],
  bad: ['', 'Active', 'expired', 'active '],
} as const
const STATUSES: Field = {
  type: 'array',
  absent: ['active'],
  good: [[], ['active'], ['revoked', 'suspended', 'active']],
  bad: [['expired'], [''], [null], ['active', 7], ['active', 'active', 'active', 'active']],
}

const SIGNED = { signatures: [{ key_id: 'k', sig: SIGNATURE }] }
const EARLY_OR_LATE = ['2030-01-02T06:00:00', '2030-01-02T06:00:00.123456789Z', '2030-01-02T08:00:00+02:00'] as const
const WINDOW = { issued_at: '2030-01-01T06:00:00Z', expires_at: '2030-01-05T06:00:00Z' }

const ARTIFACTS: readonly Artifact[] = [
  {
    name: 'genesis block (4)',
    read: readGenesisBlock,
    whole: {
      network_name: 'EXAMPLE-NET',
      network_version: 'v0.1',
      root_public_key: KEY,
      network_authority: {
        public_key: OTHER_KEY,
        valid_from: '2030-01-01T00:00:00Z',
        valid_to: '2030-04-01T00:00:00Z',
      },
      allowed_crypto_suites: ['ed25519', 'x25519'],
      allowed_transports: ['quic', 'wireguard'],
      policy_manifest: { hash: 'sha256:placeholder', url: null },
      bootstrap_anchors: [{ id: 'anchor-1', endpoint: '198.51.100.7:7448' }],
      ...SIGNED,
    },
    fields: {
      network_name: text(128),
      network_version: text(32),
      root_public_key: aKey(),
      network_authority: { type: 'object' },
      'network_authority.public_key': aKey(),
      'network_authority.valid_from': when(EARLY_OR_LATE),
      'network_authority.valid_to': when(['2030-01-01T00:00:00.000001Z']),
      allowed_crypto_suites: list(64, 'ed25519', BAD_NAMES, { absent: ['ed25519', 'x25519'], good: [[]] }),
      allowed_transports: list(64, 'quic', BAD_NAMES, { absent: ['quic', 'wireguard'], good: [[]] }),
      policy_manifest: { type: 'object' },
      'policy_manifest.hash': text(256),
      'policy_manifest.url': { type: 'string', isNullable: true, absent: null, good: ['https://example.org/p', null] },
      bootstrap_anchors: list(256, { id: 'a', endpoint: 'h:1' }, [{ id: 'a' }, { endpoint: 'h:1' }, 'a'], {
        absent: [],
        good: [[]],
      }),
      'bootstrap_anchors.0.id': text(128),
      'bootstrap_anchors.0.endpoint': text(256),
      signatures: SIGNATURES,
    },
    conflicts: [
      [
        'a window that ends as it begins',
        (block) => withAt(block, 'network_authority.valid_to', '2030-01-01T00:00:00Z'),
      ],
      [
        'a window that ends before it begins',
        (block) => withAt(block, 'network_authority.valid_to', '2029-12-31T00:00:00Z'),
      ],
    ],
  },
  {
    name: 'join certificate (6)',
    read: readJoinCertificate,
    whole: {
      cert_id: '7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6',
      node_public_key: KEY,
      network_name: 'EXAMPLE-NET',
      roles: ['role:anchor'],
      ...WINDOW,
      issued_by: 'na-example',
      ...SIGNED,
    },
    fields: {
      cert_id: text(128),
      node_public_key: aKey(),
      network_name: text(128),
      roles: list(64, 'role:a', BAD_NAMES, { absent: [], good: [[]] }),
      issued_at: when(EARLY_OR_LATE),
      expires_at: when(EARLY_OR_LATE),
      issued_by: text(128),
      signatures: SIGNATURES,
    },
    conflicts: [['an end that is its beginning', (record) => ({ ...record, expires_at: WINDOW.issued_at })]],
  },
  {
    name: 'certificate revocation list (9.1)',
    read: readCrl,
    whole: {
      crl_id: 'c0ffee00-0000-4000-8000-000000000001',
      sequence: 1,
      issued_at: '2030-01-01T06:00:00Z',
      next_update: '2030-01-05T06:00:00Z',
      issuer: 'na-example',
      revoked_certificates: [
        { certificate_id: '1', revoked_at: '2030-01-01T06:00:00Z', reason: 'superseded', issuer: 'na-example' },
      ],
      ...SIGNED,
    },
    fields: {
      crl_id: text(128),
      sequence: whole(0, Number.MAX_SAFE_INTEGER),
      issued_at: when(EARLY_OR_LATE),
      next_update: when(EARLY_OR_LATE),
      issuer: text(128),
      revoked_certificates: { type: 'array', absent: [], good: [[]], bad: [[{}], ['1'], [null]] },
      'revoked_certificates.0.certificate_id': text(128),
      'revoked_certificates.0.revoked_at': when(EARLY_OR_LATE),
      'revoked_certificates.0.reason': {
        type: 'string',
        good: ['key_compromise', 'cessation_of_operation', 'superseded', 'unspecified'],
        bad: ['', 'KEY_COMPROMISE', 'compromised'],
      },
      'revoked_certificates.0.issuer': text(128),
      signatures: SIGNATURES,
    },
    conflicts: [['a next update that is not later', (record) => ({ ...record, next_update: '2030-01-01T06:00:00Z' })]],
  },
  {
    name: 'policy manifest (10.1)',
    read: readPolicyManifest,
    whole: {
      policy_id: 'policy-1',
      issued_at: '2030-01-01T00:00:01Z',
      issued_by: 'na-example',
      min_client_version: '0.2.0',
      allowed_ports: [443],
      allowed_services: ['service-1'],
      routing: { preferred_transports: ['quic'], max_hops: 3 },
      ...SIGNED,
    },
    fields: {
      policy_id: {
        type: 'string',
        good: ['A', 'a.b_c:d-e', 'x'.repeat(128)],
        bad: ['', 'x'.repeat(129), 'a b', 'a/b', 'ë', 'a\n'],
      },
      issued_at: when(EARLY_OR_LATE),
      issued_by: text(128),
      min_client_version: {
        type: 'string',
        absent: '0.1.0',
        good: ['1', '1.2.3-rc.1+x', '1'.repeat(32)],
        bad: ['', '1'.repeat(33), '1 0', 'v_1', '1\n'],
      },
      allowed_ports: list(256, 443, [0, 65_536, -1, '443', new JsonFloat(443), true, null], {
        absent: [443, 8443],
        good: [[], [1, 65_535]],
      }),
      allowed_services: list(256, 's', BAD_NAMES, { absent: [], good: [[]] }),
      routing: { type: 'object', absent: { preferred_transports: ['quic', 'wireguard'], max_hops: 6 }, good: [{}] },
      'routing.preferred_transports': list(64, 'quic', ['', 7, null], { absent: ['quic', 'wireguard'], good: [[]] }),
      'routing.max_hops': whole(1, 64, 6),
      signatures: SIGNATURES,
    },
  },
  {
    name: 'agent descriptor (13.1)',
    read: readAgentDescriptor,
    whole: {
      agent_id: 'llm-1',
      node_public_key: KEY,
      network_name: 'EXAMPLE-NET',
      capabilities: ['llm:chat'],
      endpoint: { host: '198.51.100.7', port: 7448, scheme: 'wss' },
      registered_at: '2030-01-02T03:10:00Z',
      expires_at: '2030-01-02T03:20:00Z',
      metadata: { temperature: new JsonFloat(0.5) },
      ...SIGNED,
    },
    fields: {
      agent_id: text(128),
      node_public_key: aKey(),
      network_name: text(128),
      capabilities: list(
        64,
        'llm:chat',
        [
          '',
          'a,b',
          'a b',
          'a\tb',
          'a\u00a0b',
          'a\u2003',
          '\u0000',
          '\u0085',
          'x'.repeat(129),
          FACE.repeat(129),
          7,
          null,
        ],
        { absent: [], good: [[], [FACE.repeat(128)], ['ë"\\%_']] },
      ),
      endpoint: { type: 'object' },
      'endpoint.host': text(253),
      'endpoint.port': whole(1, 65_535),
      'endpoint.scheme': {
        type: 'string',
        absent: 'ws',
        good: ['ws', 'a', 'a1+.-', 'a'.repeat(16)],
        bad: ['', 'WS', '1a', 'a'.repeat(17), 'ws:', 'w s'],
      },
      registered_at: when(['2030-01-02T04:10:00+01:00', '2030-01-02T03:10:00.123456789']),
      expires_at: when(['2030-01-03T03:10:00Z', '2030-01-02T03:10:00.000001Z']),
      metadata: freeForm(4096),
      signatures: SIGNATURES,
    },
    conflicts: [
      ['an end that is its beginning', (record) => ({ ...record, expires_at: '2030-01-02T03:10:00Z' })],
      ['an end before its beginning', (record) => ({ ...record, expires_at: '2030-01-02T03:09:59Z' })],
      ['a life of a day and a microsecond', (record) => ({ ...record, expires_at: '2030-01-03T03:10:00.000001Z' })],
    ],
  },
  {
    name: 'membership attestation (14.1)',
    read: readAttestation,
    whole: {
      attestation_id: 'a77e57a7-0000-4000-8000-000000000001',
      issuer_sovereign_id: 'PARTNER-NET',
      subject_id: 'zoë@partner',
      subject_public_key: KEY,
      roles: ['role:client'],
      status: 'active',
      issued_at: '2030-01-01T06:00:00Z',
      valid_from: '2030-01-01T06:00:00Z',
      expires_at: '2030-01-05T06:00:00Z',
      issued_by: 'na-partner',
      claims: { capabilities: ['sp-secret.create'], limit: new JsonFloat(90) },
      ...SIGNED,
    },
    fields: {
      attestation_id: text(128),
      issuer_sovereign_id: text(128),
      subject_id: text(256),
      // On verification any string up to 256 characters is tolerated.
      subject_public_key: {
        type: 'string',
        isNullable: true,
        absent: null,
        good: [null, '', 'ssh-rsa AAAA', FACE.repeat(256)],
        bad: ['x'.repeat(257)],
      },
      roles: list(64, 'role:client', ['x'.repeat(129), 7, null], {
        absent: [],
        good: [[], ['anything'], [FACE.repeat(128)]],
      }),
      status: STATUS,
      issued_at: when([...EARLY_OR_LATE, '2030-01-05T06:00:00Z']),
      valid_from: when(EARLY_OR_LATE),
      expires_at: when(EARLY_OR_LATE),
      issued_by: text(128),
      claims: freeForm(16_384),
      signatures: SIGNATURES,
    },
    conflicts: [
      ['an end before its issue', (record) => ({ ...record, issued_at: '2030-01-05T06:00:00.000001Z' })],
      ['an end that is its start', (record) => ({ ...record, valid_from: '2030-01-05T06:00:00Z' })],
      [
        'an end before its start, in another zone',
        (record) => ({ ...record, valid_from: '2030-01-05T05:00:00-01:30' }),
      ],
    ],
  },
  {
    name: 'recognition treaty (15.1)',
    read: readRecognitionTreaty,
    whole: {
      treaty_id: '73ea7100-0000-4000-8000-000000000001',
      issuer_sovereign_id: 'EXAMPLE-NET',
      subject_sovereign_id: 'PARTNER-NET',
      subject_public_keys: [KEY],
      scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: { tier: 1 } },
      status: 'active',
      issued_at: '2030-01-01T06:00:00Z',
      valid_from: '2030-01-01T06:00:00Z',
      expires_at: '2030-01-05T06:00:00Z',
      issued_by: 'na-example',
      metadata: { note: 'ë' },
      ...SIGNED,
    },
    fields: {
      treaty_id: text(128),
      issuer_sovereign_id: text(128),
      subject_sovereign_id: text(128),
      subject_public_keys: list(16, KEY, ['', 'x', KEY.slice(1), null, 7], { bad: [[]] }),
      scope: { type: 'object', absent: { allowed_roles: [], accepted_statuses: ['active'], claims: {} }, good: [{}] },
      'scope.allowed_roles': list(64, 'role:a', ['x'.repeat(129), 7, null], { absent: [], good: [[]] }),
      'scope.accepted_statuses': STATUSES,
      'scope.claims': freeForm(16_384),
      status: STATUS,
      issued_at: when([...EARLY_OR_LATE, '2030-01-05T06:00:00Z']),
      valid_from: when(EARLY_OR_LATE),
      expires_at: when(EARLY_OR_LATE),
      issued_by: text(128),
      metadata: freeForm(16_384),
      signatures: SIGNATURES,
    },
    conflicts: [
      ['an end before its issue', (record) => ({ ...record, issued_at: '2030-01-05T06:00:01Z' })],
      ['an end that is its start', (record) => ({ ...record, valid_from: '2030-01-05T06:00:00Z' })],
    ],
  },
  {
    name: 'recognition policy (16)',
    read: readRecognitionPolicy,
    whole: {
      local_sovereign_id: 'EXAMPLE-NET',
      recognized_issuers: [
        {
          sovereign_id: 'PARTNER-NET',
          public_keys: [KEY],
          allowed_roles: ['role:client'],
          accepted_statuses: ['active'],
        },
      ],
      revoked_attestation_ids: ['a', 'b'],
    },
    fields: {
      local_sovereign_id: text(128),
      recognized_issuers: {
        type: 'array',
        absent: [],
        good: [[], issuers(256)],
        bad: [issuers(257), [{}], [null], ['PARTNER-NET']],
      },
      'recognized_issuers.0.sovereign_id': text(128),
      'recognized_issuers.0.public_keys': list(16, KEY, ['', 'x', null], { bad: [[]] }),
      'recognized_issuers.0.allowed_roles': list(64, 'role:a', ['x'.repeat(129), 7, null], { absent: [], good: [[]] }),
      'recognized_issuers.0.accepted_statuses': STATUSES,
      revoked_attestation_ids: {
        type: 'array',
        absent: [],
        good: [[]],
        bad: [names(50_001), [''], [7], [null], ['x'.repeat(129)]],
      },
    },
    conflicts: [['one issuer twice', (policy) => ({ ...policy, recognized_issuers: [...issuers(1), ...issuers(1)] })]],
  },
  {
    name: 'sovereign revocation feed (18.1)',
    read: readRevocationFeed,
    whole: {
      feed_id: 'fee40000-0000-4000-8000-000000000001',
      issuer_sovereign_id: 'PARTNER-NET',
      sequence: 1,
      issued_at: '2030-01-03T00:00:00Z',
      revoked_attestation_ids: ['a', 'b'],
      revocation_reasons: { a: 'key_compromise' },
      issued_by: 'na-partner',
      ...SIGNED,
    },
    fields: {
      feed_id: text(128),
      issuer_sovereign_id: text(128),
      sequence: whole(0, Number.MAX_SAFE_INTEGER),
      issued_at: when(EARLY_OR_LATE),
      revoked_attestation_ids: {
        type: 'array',
        absent: [],
        // In any order and repeated: the signature decides.
        good: [['a'], ['Z', 'a', 'ë', '\ue000', FACE], ['b', 'a'], ['a', 'a'], ['a', FACE, '\ue000'], names(200_000)],
        bad: [names(200_001), ['a', ''], ['a', 7], ['a', null], ['x'.repeat(129)]],
      },
      revocation_reasons: {
        type: 'object',
        absent: {},
        good: [{}, { a: '', b: FACE.repeat(256) }, { b: 'x' }],
        bad: [
          { c: 'x' },
          { a: 'x'.repeat(257) },
          { a: 'x\n' },
          { a: 7 },
          { a: null },
          { a: {} },
          readJson('{"__proto__":"x"}'),
        ],
      },
      issued_by: text(128),
      signatures: SIGNATURES,
    },
    conflicts: [['a reason for an id that is not listed', (feed) => ({ ...feed, revoked_attestation_ids: ['b'] })]],
  },
]

function issuers(count: number): JsonObject[] {
  return Array.from({ length: count }, (_, i) => ({ sovereign_id: `S${i}`, public_keys: [KEY] }))
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `a${String(i).padStart(6, '0')}`)
}

/** A copy with one place changed, or without it when no value is given. */
function withAt<Value extends JsonValue>(value: Value, place: Place, changed?: JsonValue): Value {
  const [name = '', ...rest] = place.split('.')
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[]
    return items.map((item, i) =>
      i === Number(name) ? withAt(item, rest.join('.'), changed) : item,
    ) as unknown as Value
  }
  const { [name]: inner = null, ...others } = value as JsonObject
  const next = rest.length > 0 ? withAt(inner, rest.join('.'), changed) : changed
  return (next === undefined ? others : { ...others, [name]: next }) as Value
}

/** Returns every object inside the record except free-form ones, to add an unknown member. */
function* closedObjects(value: JsonValue, place = ''): Generator<Place> {
  if (['metadata', 'claims', 'scope.claims', 'revocation_reasons'].includes(place)) return
  if (Array.isArray(value)) {
    for (const [i, item] of (value as readonly JsonValue[]).entries()) yield* closedObjects(item, `${place}.${i}`)
  } else if (isJsonObject(value)) {
    yield place
    for (const [name, item] of Object.entries(value))
      yield* closedObjects(item, place === '' ? name : `${place}.${name}`)
  }
}

const TYPES: readonly [Type | 'other', JsonValue][] = [
  ['string', 'text'],
  ['integer', 1],
  ['array', []],
  ['object', {}],
  ['other', true],
  ['other', false],
  ['other', new JsonFloat(1)],
  ['other', 2n ** 60n],
  ['other', null],
]

function problem(read: () => unknown): FormError {
  try {
    read()
  } catch (error) {
    if (error instanceof FormError) return error
    throw error
  }
  throw new Error('it was read')
}

/** `a.0.b` is named `a[0].b`. */
const named = (place: Place): string => place.replaceAll(/\.(\d+)/g, '[$1]')
const shown = (value: JsonValue): string => canonicalJson(value).slice(0, 40)

describe.each(ARTIFACTS)('$name', ({ read, whole: record, fields, conflicts = [] }) => {
  const places = Object.entries(fields)

  it('names every member of its table', () => {
    const top = Object.keys(fields).filter((place) => !place.includes('.'))
    expect(top.sort()).toEqual(Object.keys(record).sort())
  })

  it('reads the whole record to itself, from text too', () => {
    expect(read(record)).toEqual(record)
    expect(canonicalJson(read(readJson(canonicalJson(record))) as JsonObject)).toBe(canonicalJson(record))
  })

  it.each(places.filter(([, field]) => field.absent === undefined).map(([place]) => place))('needs %s', (place) => {
    const { field, problem: why } = problem(() => read(withAt(record, place)))
    expect([field, why]).toEqual([named(place), 'is missing'])
  })

  it.each(places.filter(([, field]) => field.absent !== undefined))('fills in %s', (place, { absent }) => {
    // Reasons go with their ids.
    const fitting =
      place === 'revoked_attestation_ids' && 'revocation_reasons' in record
        ? withAt(record, 'revocation_reasons')
        : record
    const filled = withAt(fitting, place, absent)
    expect(read(withAt(fitting, place))).toEqual(read(filled))
    expect(canonicalJson(read(withAt(fitting, place)) as JsonObject)).toBe(canonicalJson(read(filled) as JsonObject))
  })

  it('fills in everything at once, so that a signature over the defaults verifies', async () => {
    if (!('signatures' in record)) return
    const signer = await seedSigner('k', core.keys[0]?.seed ?? '')
    const optional = places.filter(([place, { absent }]) => absent !== undefined && place !== 'signatures')
    // Inner places first: their parents may go as a whole.
    const ordered = optional.toSorted(([a], [b]) => b.length - a.length)
    const spelledOut = ordered.reduce((each, [place, { absent }]) => withAt(each, place, absent), record)
    const leftOut = ordered.reduce((each, [place]) => withAt(each, place), record)
    const { signatures } = await signList(withAt(spelledOut, 'signatures'), signer)
    const received = read({ ...leftOut, signatures }) as JsonObject & SignedList
    expect(await verifyList(received, [signer.publicKey])).toBe(true)
    expect(Object.keys(leftOut).length < Object.keys(record).length || optional.length === 0).toBe(true)
  })

  it.each(places)('takes no other type for %s', (place, { type, isNullable = false }) => {
    for (const [other, value] of TYPES) {
      if (other === type || (value === null && isNullable)) continue
      const { field } = problem(() => read(withAt(record, place, value)))
      expect(field, shown(value)).toBe(named(place))
    }
  })

  it.each(places.flatMap(([place, { good = [] }]) => good.map((value) => ({ place, value, as: shown(value) }))))(
    'takes $place $as',
    ({ place, value }) => {
      const fitting =
        place === 'revoked_attestation_ids' && 'revocation_reasons' in record
          ? withAt(record, 'revocation_reasons')
          : record
      expect(read(withAt(fitting, place, value))).toBeDefined()
    },
  )

  it.each(places.flatMap(([place, { bad = [] }]) => bad.map((value) => ({ place, value, as: shown(value) }))))(
    'refuses $place $as',
    ({ place, value }) => {
      const { field } = problem(() => read(withAt(record, place, value)))
      expect(field.startsWith(named(place)), field).toBe(true)
    },
  )

  it.each([...closedObjects(record)].map((place) => place || '(top)'))('knows no other member in %s', (shownPath) => {
    const place = shownPath === '(top)' ? '' : shownPath
    for (const name of ['x', 'signature', 'toString', '__proto__', '']) {
      const inner = (place === '' ? record : at(record, place)) as JsonObject
      // Through the reader: a literal would set the prototype instead.
      const text = canonicalJson(inner)
      const grown = readJson(`${text.slice(0, -1)}${text === '{}' ? '' : ','}${JSON.stringify(name)}:1}`)
      const { problem: why } = problem(() => read(place === '' ? grown : withAt(record, place, grown)))
      expect(why).toBe('an unknown member')
    }
  })

  it.each(conflicts)('refuses %s', (_what, change) => {
    expect(problem(() => read(change(record)))).toBeInstanceOf(FormError)
  })

  it.each([null, true, 1, 'text', [], [record]] as JsonValue[])('is an object, not %j', (value) => {
    expect(problem(() => read(value)).field).toBe('')
  })
})

function at(value: JsonValue, place: Place): JsonValue {
  return place.split('.').reduce<JsonValue>((each, name) => (each as Record<string, JsonValue>)[name] ?? null, value)
}

describe('readRecognitionPolicy', () => {
  it('keeps revoked ids as a set, sorted by code point', () => {
    const policy = readRecognitionPolicy({
      local_sovereign_id: 'A',
      revoked_attestation_ids: [FACE, 'b', 'B', '\ue000', 'b', FACE],
    })
    expect(policy.revoked_attestation_ids).toEqual(['B', 'b', '\ue000', FACE])
  })

  it('reads 50,000 revoked ids', () => {
    const ids = names(50_000)
    expect(
      readRecognitionPolicy({ local_sovereign_id: 'A', revoked_attestation_ids: ids }).revoked_attestation_ids,
    ).toEqual(ids)
  })
})
