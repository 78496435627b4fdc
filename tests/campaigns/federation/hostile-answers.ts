import type { IncomingMessage, ServerResponse } from 'node:http'
import { canonicalText, foreignSovereign, foreignTreaty, wireText } from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign } from '@chancery/testkit'
import type { StubPartner } from '../../../apps/authority/src/features/partners/stub-partner.suite.ts'
import type { Random } from '../lib/random.ts'

/** What a correct partner shows now: the campaign raises it, and no malicious answer may lower it at the authority. */
export interface Shown {
  readonly sequence: number
  readonly revoked: readonly string[]
  /** An attestation that is never revoked; forged feeds name it. */
  readonly victim: string
  /** Nothing may ever call it. */
  readonly trap: string
  readonly now: bigint
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

export interface Hostile {
  readonly name: string
  readonly path: string
  readonly answer: ForeignObject | Handler
  /** Signed by the partner's own key: an alarm may follow. */
  readonly isAuthentic?: true
  /** Ids that an authentic answer revokes in addition. */
  readonly adds?: readonly string[]
}

export const MATERIALS = [
  '/genesis',
  '/key-history',
  '/sovereign.json',
  '/sovereign-revocation-feed',
  '/crl',
  '/recognition-treaties',
] as const

const JSON_TYPE = { 'content-type': 'application/json' }
const text =
  (body: string | Buffer, status = 200, headers: Readonly<Record<string, string>> = {}): Handler =>
  (_request, response) =>
    void response.writeHead(status, { ...JSON_TYPE, ...headers }).end(body)

/** Answers that no material may have. */
const TRANSPORT: readonly (readonly [string, (shown: Shown) => Handler])[] = [
  ['endless', () => endless],
  ['redirect', ({ trap }) => text('{}', 302, { location: trap })],
  ['permanent redirect', ({ trap }) => text('{}', 308, { location: `${trap}/genesis` })],
  ['broken', () => text('{"sequence": 1, "revoked_attestation_ids": [')],
  ['empty', () => text('')],
  ['null', () => text('null')],
  ['list', () => text('[]')],
  ['number', () => text('1e400')],
  ['deep', () => text('['.repeat(100_000) + ']'.repeat(100_000))],
  ['deep names', () => text(`${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}`)],
  ['repeated name', () => text('{"sequence":1,"sequence":2}')],
  ['wrong bytes', () => text(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]))],
  ['many names', () => text(`{${Array.from({ length: 20_000 }, (_, i) => `"n${i}":${i}`).join(',')}}`)],
  ['page', () => text('<html>not found</html>', 200, { 'content-type': 'text/html' })],
  ['failure', () => text('{}', 500)],
  ['unchanged without a tag', () => text('', 304)],
  ['compressed', () => text(Buffer.alloc(2000, 31), 200, { 'content-encoding': 'gzip' })],
  ['cut', () => cut],
  ['closed', () => (request) => void request.socket.destroy()],
  ['many headers', () => text('{}', 200, Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`x-${i}`, 'a'])))],
]

/** One byte a second, until the authority gives up. */
export function slow(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, JSON_TYPE)
  const timer = setInterval(() => response.write(' '), 1000)
  response.on('close', () => clearInterval(timer))
}

function endless(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, JSON_TYPE)
  const block = Buffer.alloc(262_144, 32)
  const write = (): void => {
    while (!response.destroyed && response.write(block));
  }
  response.on('drain', write)
  write()
}

function cut(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': '100000' })
  response.write('{"sequence":1,', () => response.destroy())
}

/** One malicious answer in place of a correct one. */
export function pickHostile(stub: StubPartner, shown: Shown, random: Random): Hostile {
  if (random.chance(40)) {
    const [name, make] = random.pick(TRANSPORT as typeof TRANSPORT & readonly [(typeof TRANSPORT)[number]])
    return { name, path: random.pick(MATERIALS), answer: make(shown) }
  }
  const make = random.pick(SPECIFIC as typeof SPECIFIC & readonly [(typeof SPECIFIC)[number]])
  return make(stub, shown, random)
}

const thief = (stub: StubPartner): ForeignSovereign => foreignSovereign(stub.name, `thief of ${stub.name}`)
const FEED = '/sovereign-revocation-feed'

const SPECIFIC: readonly ((stub: StubPartner, shown: Shown, random: Random) => Hostile)[] = [
  (stub) => ({ name: 'other root', path: '/genesis', answer: stub.genesis(thief(stub)) }),
  (stub) => ({ name: 'other name', path: '/genesis', answer: stub.genesis(stub.root, { network_name: 'ELSEWHERE' }) }),
  (stub) => ({ name: 'key of a thief', path: '/genesis', answer: withKey(stub.genesis(), thief(stub).publicKey) }),
  (stub) => ({
    name: 'older genesis',
    path: '/genesis',
    answer: stub.genesis(stub.root, { network_authority: window(thief(stub).publicKey, '2025-01-01T00:00:00Z') }),
  }),
  (stub) => ({ name: 'forged history', path: '/key-history', answer: history(stub, thief(stub)) }),
  (stub) => ({ name: 'history of another network', path: '/key-history', answer: history(stub, stub.root, 'OTHER') }),
  (stub) => ({
    name: 'other metadata',
    path: '/sovereign.json',
    answer: { sovereign_id: 'ELSEWHERE', root_public_key: thief(stub).publicKey, name: stub.name },
  }),
  (stub, { sequence, victim, revoked }) => {
    const feed = { ...stub.feed(sequence + 1, [...revoked, victim]), signatures: [] }
    return { name: 'forged feed', path: FEED, answer: thief(stub).sign(feed) }
  },
  (stub, { sequence, victim, revoked }) => {
    const feed = stub.feed(sequence + 1, revoked)
    return { name: 'changed feed', path: FEED, answer: { ...feed, revoked_attestation_ids: [victim] } }
  },
  (stub, { sequence, victim }) => {
    const answer = stub.feed(sequence + 1, [victim], { issuer_sovereign_id: 'ELSEWHERE' })
    return { name: 'feed of another issuer', path: FEED, answer }
  },
  (stub, { sequence }) => ({
    name: 'lower feed',
    path: FEED,
    answer: stub.feed(Math.max(0, sequence - 1), []),
    isAuthentic: true,
  }),
  (stub, { sequence }) => ({
    name: 'old feed',
    path: FEED,
    answer: stub.feed(Math.max(0, sequence - 2), [], { issued_at: '2026-01-02T00:00:00Z' }),
    isAuthentic: true,
  }),
  (stub, { sequence }, random) => {
    const id = `twice-${random.next()}`
    return { name: 'two feeds', path: FEED, answer: stub.feed(sequence, [id]), isAuthentic: true, adds: [id] }
  },
  (stub, { sequence, revoked }) => ({
    name: 'far sequence',
    path: FEED,
    answer: stub.feed(sequence + 5_000_000, revoked),
    isAuthentic: true,
  }),
  (stub, { victim }, random) => {
    const number = random.pick(['-1', '1.5', '1e3', '9007199254740993', '99999999999999999999', '"7"', 'true'] as const)
    const feed = canonicalText(stub.feed(7, [victim])).replace('"sequence":7', `"sequence":${number}`)
    return { name: 'wrong number', path: FEED, answer: text(feed) }
  },
  (stub, { sequence, victim }) => {
    const ids = [victim, ...Array.from({ length: 200_001 }, (_, i) => `many-${i}`)]
    const feed = { ...stub.feed(0, []), sequence: sequence + 1, revoked_attestation_ids: ids }
    return { name: 'too many ids', path: FEED, answer: text(JSON.stringify(feed)) }
  },
  (stub, { sequence }) => ({ name: 'lower list', path: '/crl', answer: stub.crl(sequence - 1, []), isAuthentic: true }),
  (stub, { sequence }) => {
    const crl = { ...stub.crl(sequence + 1, []), signatures: [] }
    return { name: 'forged list', path: '/crl', answer: thief(stub).sign(crl) }
  },
  (stub, { now }) => {
    const treaties = Array.from({ length: 200 }, () => foreignTreaty(thief(stub), thief(stub), now))
    return { name: 'forged treaties', path: '/recognition-treaties', answer: rows(treaties) }
  },
  (stub, { now }) => {
    const one = foreignTreaty(stub.key, thief(stub), now)
    const treaties = Array.from({ length: 1000 }, (_, i) => ({ ...one, treaty_id: `t-${i}` }))
    return { name: 'pages without end', path: '/recognition-treaties', answer: endlessPages(wireText(rows(treaties))) }
  },
]

function withKey(genesis: ForeignObject, public_key: string): ForeignObject {
  return { ...genesis, network_authority: window(public_key, '2026-01-01T00:00:00Z') }
}

function window(public_key: string, valid_from: string): ForeignObject {
  return { public_key, valid_from, valid_to: '2027-01-01T00:00:00Z' }
}

function history(stub: StubPartner, by: ForeignSovereign, network_name = stub.name): ForeignObject {
  const former = { key_id: 'na-old', ...window(thief(stub).publicKey, '2026-01-01T00:00:00Z') }
  return by.sign({
    network_name,
    root_public_key: by.publicKey,
    issued_at: '2026-01-02T00:00:00Z',
    former_keys: [former],
  })
}

function rows(treaties: readonly ForeignObject[]): ForeignObject {
  const recognition_treaties = treaties.map((treaty) => ({ treaty, status: 'active' }))
  return { count: treaties.length, recognition_treaties }
}

function endlessPages(page: string): Handler {
  let pages = 0
  return (request, response) => {
    pages += 1
    const next = `${page.trimEnd().slice(0, -1)}, "next_cursor": "page-${pages}" }`
    text(next, 200, { link: `<${request.url ?? ''}&cursor=page-${pages}>; rel="next"` })(request, response)
  }
}
