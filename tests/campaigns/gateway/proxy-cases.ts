// oxlint-disable max-lines -- one table of cases
import { type GatewayOperation, OPERATOR_HEADERS } from '@chancery/contract'
import type { Random } from '../lib/random.ts'

/** One request to the gateway, built in parts, and the expected result. */
export interface ProxyCase {
  readonly what: string
  readonly method: string
  /** As sent in the request line. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer | undefined
  readonly isChunked: boolean
  /** Undefined: nothing may reach the authority, not even a connection. */
  readonly upstream: { readonly target: string; readonly body: Buffer } | undefined
}

interface Draft {
  what: string
  method: string
  network: string
  operation: string
  /** Decoded names and values, and how each pair is written. */
  pairs: { name: string; value: string; written: string }[]
  headers: (readonly [string, string])[]
  body: Buffer | undefined
  isChunked: boolean
  isRefused: boolean
  rawTarget: string | undefined
}

type Mutation = (draft: Draft, operation: GatewayOperation, random: Random) => void

const NODE_KEY = 'oJql9HpnWYAv+VX43C0qFKXJnSO+l/hkEn/5ODRVpPA='
const GOOD: Readonly<Record<string, readonly string[]>> = {
  node_public_key: [
    NODE_KEY,
    '0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc=',
    'F8t5+ytBIPKx7GXkGY1uCLKOgT/rAeSkAIObheGAgM4=',
  ],
  resource_id: ['kv:vault/clé', 'a', 'a/b/c', 'tank-7/valve_2', 'ключ/値', '...', 'a/..b', 'user@host/x:y'],
  vendor_id: ['fournisseur-é', 'v', '株式会社', 'a.b:c@d', '...'],
}
const GOOD_NAMES = ['a', 'op-7:a@b', 'att_1.2-3', '...', '..a', '0', 'x'.repeat(2048)]

/** Refused for every parameter of a path. */
const BAD = ['', '.', '..', '%', 'a%2Fb', '%2e%2e', 'a\\b', 'a\u0000b', 'a\nb', 'a\u007fb', 'a\u0085b', 'a\u202eb']
const BAD_NAMES = [
  ...BAD,
  'a/b',
  '../admin',
  'café',
  'a b',
  'a?b',
  'a#b',
  'a;b',
  'a,b',
  'a+b',
  'a&b',
  'a=b',
  '/',
  'a\u2066',
]
const BAD_PATHS = [...BAD, 'a//b', '/a', 'a/', 'a/../b', './a', 'a/.', '..', 'a/..', 'a?b', 'a#b', 'a\u0001/b', 'a b']
const BAD_KEYS = [
  ...BAD,
  'abc',
  'A'.repeat(43) + '=',
  NODE_KEY.slice(0, 43),
  `${NODE_KEY}=`,
  NODE_KEY.replaceAll('/', '_').replaceAll('+', '-'),
  `${NODE_KEY.slice(0, -2)}B=`,
]

/** Form encoding, implemented here so that it is independent of the product. */
function formEncode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      if (/[A-Za-z0-9*._-]/.test(character)) return character
      return byte === 0x20 ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}

/** Percent-encodes some characters that need no encoding: another spelling of the same text. */
function respell(text: string, random: Random): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      const isPlain = /[A-Za-z0-9._-]/.test(character)
      const hex = byte.toString(16).padStart(2, '0')
      return isPlain && !random.chance(30) ? character : `%${random.chance(50) ? hex : hex.toUpperCase()}`
    })
    .join('')
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random.below(items.length)] as Item
}

function setPair(draft: Draft, name: string, value: string, written = formEncode(value)): void {
  draft.pairs = draft.pairs.filter((pair) => pair.name !== name)
  draft.pairs.push({ name, value, written: `${name}=${written}` })
}

function refuse(draft: Draft, what: string): void {
  draft.what = what
  draft.isRefused = true
}

const TEXTS = ['', 'active', 'a b', 'é', '😀', '&=?#/', '%', '+', '\n', '../..', 'x'.repeat(2048), '\u202e', '"<>\'`']

const MUTATIONS: readonly Mutation[] = [
  (draft) => {
    draft.what = 'as it should be'
  },
  // The path at the gateway
  (draft, { id }, random) => {
    const spellings = [id.toUpperCase(), `${id}/`, `${id}%00`, `${id}%2F..`, `${id}.`, `%${id}`, `${id};a`, `./${id}`]
    draft.operation = pick(random, [...spellings, `..%2F${id}`, `${id}//`, `${id}/../${id}`, '__proto__', '', '*'])
    refuse(draft, 'another operation')
  },
  (draft, _operation, random) => {
    draft.network = pick(random, ['hidden', 'nobody', 'AGENCY', 'agency%2F', 'agency%', '%ff', '..', '', 'agency%00'])
    refuse(draft, 'another network')
  },
  (draft, _operation, random) => {
    draft.network = respell('agency', random)
    draft.what = 'the network in another spelling'
  },
  (draft, { id, upstream_path }, random) => {
    draft.rawTarget = pick(random, [
      upstream_path,
      `//v1/networks/agency/services/${id}`,
      `/v1/networks/agency/services/../services/${id}`,
      `/v1/networks/agency%2Fservices/${id}`,
      `/V1/networks/agency/services/${id}`,
      `/v1/networks/agency/services/${id}/extra`,
      `/v1//networks/agency/services/${id}`,
      `http://127.0.0.1/v1/networks/agency/services/${id}`,
      `/v1/networks/agency/services/${id}#x`,
      `*`,
    ])
    refuse(draft, 'another path')
  },
  (draft, { method }, random) => {
    const others = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE'].filter(
      (each) => each !== method,
    )
    draft.method = pick(random, others)
    refuse(draft, 'another method')
  },
  // Parameters of the authority's path
  (draft, { parameters }, random) => {
    if (parameters.length === 0) return
    const name = pick(random, parameters)
    const bad = name === 'node_public_key' ? BAD_KEYS : name === 'resource_id' ? BAD_PATHS : BAD_NAMES
    // A letter of another script is valid in these two.
    const values = name === 'vendor_id' ? bad.filter((value) => value !== 'café') : bad
    setPair(draft, name, pick(random, values))
    refuse(draft, 'a bad parameter')
  },
  (draft, { parameters }, random) => {
    if (parameters.length === 0) return
    const name = pick(random, parameters)
    const value = pick(random, GOOD[name] ?? GOOD_NAMES)
    setPair(draft, name, value, random.chance(50) ? respell(value, random) : formEncode(value))
    draft.what = 'another good parameter'
  },
  (draft, { parameters }, random) => {
    if (parameters.length === 0) return
    draft.pairs = draft.pairs.filter(({ name }) => name !== pick(random, parameters))
    refuse(draft, 'a missing parameter')
  },
  // The query
  (draft, { query }, random) => {
    if (query.length === 0) return
    for (const name of query) if (random.chance(60)) setPair(draft, name, pick(random, TEXTS))
    draft.what = 'query values'
  },
  (draft, { query }, random) => {
    if (query.length === 0) return
    const name = pick(random, query)
    const value = pick(random, TEXTS.slice(0, -1))
    setPair(draft, name, value)
    const pair = draft.pairs.at(-1)
    if (pair !== undefined && value.length < 100) pair.written = `${respell(name, random)}=${respell(value, random)}`
    draft.what = 'a query in another spelling'
  },
  (draft, _operation, random) => {
    const name = pick(random, ['x', 'limit%00', 'Status', 'status[]', 'url', 'host', '__proto__', 'upstream', ''])
    draft.pairs.push({ name, value: '1', written: `${name}=${pick(random, ['1', 'http://evil.example', '..'])}` })
    refuse(draft, 'an unknown query name')
  },
  (draft, { query, parameters }, random) => {
    const names = [...query, ...parameters]
    if (names.length === 0) return
    const name = pick(random, names)
    if (!draft.pairs.some((pair) => pair.name === name)) setPair(draft, name, 'a')
    draft.pairs.push({ name, value: 'b', written: `${respell(name, random)}=b` })
    refuse(draft, 'a repeated name')
  },
  (draft, { query }, random) => {
    if (query.length > 0 && random.chance(50)) setPair(draft, pick(random, query), 'y'.repeat(2049 + random.below(99)))
    else for (let n = 0; n < 25; n += 1) draft.pairs.push({ name: `p${n}`, value: '', written: `p${n}=` })
    refuse(draft, 'too much query')
  },
  (draft, { query, parameters }, random) => {
    const name = pick(random, [...query, ...parameters, 'x'])
    draft.pairs.push({
      name,
      value: '',
      written: `${name}=${pick(random, ['%', '%zz', '%c3', '%ff', '%ed%a0%80', '%u0041'])}`,
    })
    refuse(draft, 'a broken escape')
  },
  // Headers
  (draft, _operation, random) => {
    const given: readonly (readonly [string, string])[] = [
      ['Cookie', 'session=secret'],
      ['X-Forwarded-For', '10.0.0.1'],
      ['Forwarded', 'for=10.0.0.1;host=evil.example'],
      ['X-Forwarded-Host', 'evil.example'],
      ['Origin', 'https://evil.example'],
      ['Referer', 'https://evil.example/secret'],
      ['User-Agent', 'campaign'],
      ['X-Request-ID', 'chosen-by-caller'],
      ['Idempotency-Key', 'again'],
      ['Accept', 'text/html'],
      ['Accept-Encoding', 'gzip, br'],
      ['TE', 'trailers'],
      ['Trailer', 'X-Late'],
      ['Keep-Alive', 'timeout=99'],
      ['Proxy-Authorization', 'Basic eDp5'],
      ['Via', '1.1 evil'],
      ['If-None-Match', '"x"'],
      ['Range', 'bytes=0-1'],
      ['X-Original-URL', '/admin/invite'],
      ['X-HTTP-Method-Override', 'DELETE'],
      ['X-Admin-Tier', 'privileged'],
    ]
    for (const header of given) if (random.chance(40)) draft.headers.push(header)
    draft.what = 'headers of the caller'
  },
  (draft, { admin }, random) => {
    const name = pick(random, Object.values(OPERATOR_HEADERS))
    const bad: readonly (readonly [string, string])[][] = [
      [],
      [[name, '']],
      [
        [name, 'a'],
        [name, 'a'],
      ],
      [[name, 'v'.repeat(513)]],
      [[name, 'a b']],
      [[name, 'caf\u00e9']],
      [
        [name.toLowerCase(), 'a'],
        [name.toUpperCase(), 'b'],
      ],
    ]
    draft.headers = [...draft.headers.filter((header) => header[0] !== name), ...pick(random, bad)]
    if (admin) refuse(draft, 'a bad operator header')
    else draft.what = 'operator headers that are not needed'
  },
  (draft, _operation, random) => {
    const name = pick(random, Object.values(OPERATOR_HEADERS))
    const value = pick(random, ['!', '~'.repeat(512), 'not-a-signature', '"<>', ',', 'a=b;c'])
    draft.headers = [...draft.headers.filter((header) => header[0] !== name), [name, value]]
    draft.what = 'odd operator headers'
  },
  (draft, _operation, random) => {
    if (draft.body === undefined) return
    const given = pick(random, [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonx',
    ])
    draft.headers = [...draft.headers.filter(([name]) => name !== 'Content-Type'), ['Content-Type', given]]
    refuse(draft, 'another content type')
  },
  (draft, _operation, random) => {
    if (draft.body === undefined) return
    draft.headers.push(['Content-Encoding', pick(random, ['gzip', 'br', 'identity, gzip'])])
    refuse(draft, 'a coded body')
  },
  (draft, _operation, random) => {
    const twice = pick(random, ['Host', 'Authorization', 'Content-Type', 'Content-Length'] as const)
    draft.headers.push([twice, twice === 'Content-Length' ? '0' : 'x'])
    // Added where there was none, the header is sent once and is an ordinary header.
    if (draft.body !== undefined || twice === 'Host' || twice === 'Authorization') refuse(draft, 'a header twice')
    else draft.what = 'a lonely body header'
  },
  // Bodies
  (draft, { method }, random) => {
    if (method === 'GET') {
      draft.body = Buffer.from(pick(random, ['{}', ' ', '0', 'null', '{"a":1}']))
      refuse(draft, 'a body on a read')
      return
    }
    const bad = [
      '',
      '[]',
      '"x"',
      'null',
      '1',
      '{',
      '{"a":1,"a":2}',
      '{"a":1} x',
      '{"a":"\\ud800"}',
      '\ufeff{}',
      "{'a':1}",
    ]
    draft.body = Buffer.from(
      pick(random, [...bad, '{"a":NaN}', '{"a":01}', '{"a":99999999999999999999999}', nested(66)]),
    )
    refuse(draft, 'a bad body')
  },
  (draft, { method }, random) => {
    if (method === 'GET') return
    const odd = [
      '{}',
      ' {} ',
      '{"n":1.0,"e":1E5,"z":-0.0}',
      '{"b":9007199254740993}',
      '{\r\n\t"é":"\\u00e9"}',
      nested(60),
    ]
    draft.body = Buffer.from(pick(random, [...odd, '{"__proto__":{"x":1}}', `{"long":"${'x'.repeat(5000)}"}`]))
    draft.isChunked = random.chance(50)
    draft.what = draft.isChunked ? 'an odd body in pieces' : 'an odd body'
  },
  (draft, { method }) => {
    if (method === 'GET') return
    draft.body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])
    refuse(draft, 'a body that is no UTF-8')
  },
]

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}

/** Returns case number n of an operation: the plain one first, then each mutation, with other values every round. */
export function proxyCase(operation: GatewayOperation, index: number, token: string, random: Random): ProxyCase {
  const isRead = operation.method === 'GET'
  const draft: Draft = {
    what: '',
    method: operation.method,
    network: 'agency',
    operation: operation.id,
    pairs: [],
    headers: [
      ['Host', 'gateway.example'],
      ['Authorization', `Bearer ${token}`],
      ...(isRead ? [] : [['Content-Type', 'application/json'] as const]),
      ...Object.values(OPERATOR_HEADERS).map((name) => [name, `value-of-${name}`] as const),
    ],
    body: isRead ? undefined : Buffer.from(`{ "case" : ${index}.0 }`),
    isChunked: false,
    isRefused: false,
    rawTarget: undefined,
  }
  for (const name of operation.parameters) setPair(draft, name, pick(random, GOOD[name] ?? GOOD_NAMES))
  // Some mutations need a parameter, a query or a body; otherwise the next one is used.
  for (let n = index; draft.what === ''; n += 1) MUTATIONS[n % MUTATIONS.length]?.(draft, operation, random)
  return finish(draft, operation)
}

function finish(draft: Draft, operation: GatewayOperation): ProxyCase {
  const query = draft.pairs.map(({ written }) => written).join('&')
  const path = `/v1/networks/${draft.network}/services/${draft.operation}`
  const target = draft.rawTarget ?? (query === '' ? path : `${path}?${query}`)
  const upstream = draft.isRefused
    ? undefined
    : { target: expectedTarget(draft, operation), body: draft.body ?? Buffer.alloc(0) }
  const { what, method, headers, body, isChunked } = draft
  return { what, method, target, headers, body, isChunked, upstream }
}

function expectedTarget(draft: Draft, { upstream_path, query }: GatewayOperation): string {
  const value = (name: string): string | undefined => draft.pairs.find((pair) => pair.name === name)?.value
  const path = upstream_path.replace(/\{(\w+)\}/g, (_whole, name: string) =>
    (name === 'resource_id' ? (value(name) ?? '').split('/') : [value(name) ?? '']).map(encodeURIComponent).join('/'),
  )
  const pairs = [...query]
    .sort()
    .flatMap((name) => (value(name) === undefined ? [] : [`${name}=${formEncode(value(name) ?? '')}`]))
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}
