import type { ServerResponse } from 'node:http'
import { brotliCompressSync } from 'node:zlib'
import { HOUR, type JsonObject, type RevocationList, seconds, writeInstant, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type TestEntry, type TestIssuer, testIssuer, testList } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'

/** Response of a list server instead of the next valid list, and the expected result in the gateway. */
export interface Behaviour {
  readonly name: string
  readonly outcome:
    | 'installed'
    | 'unreachable'
    | 'too_large'
    | 'malformed'
    | 'unauthentic'
    | 'rollback'
    | 'equivocation'
    | 'stale'
  answer(response: ServerResponse, offer: Offer): void | Promise<void>
}

interface Offer {
  readonly by: TestIssuer
  /** Valid, authentic and newer; it leaves out what the current list revokes. */
  readonly newer: RevocationList
  readonly random: Random
}

export const STORED_SEQUENCE = 9

export function validList(
  by: TestIssuer,
  facts: {
    readonly sequence?: number
    readonly issuedAgo?: bigint
    readonly lasts?: bigint
    readonly entries?: readonly TestEntry[]
  } = {},
): Promise<RevocationList> {
  const { sequence = STORED_SEQUENCE + 1, entries = [{ certificate_id: 'fresh' }], ...times } = facts
  return testList(by, systemClock.now(), { issuedAgo: seconds(60), ...times, sequence, entries })
}

const MAX_LIST_BYTES = 64 * 1024 * 1024

const send = (response: ServerResponse, body: string | Uint8Array): void => void response.writeHead(200).end(body)

/** Sends a text made from the valid list. */
const text =
  (make: (offer: Offer) => string | Uint8Array | Promise<string | Uint8Array>): Behaviour['answer'] =>
  async (response, offer) =>
    send(response, await make(offer))

const edited =
  (change: (list: RevocationList) => JsonObject): Behaviour['answer'] =>
  (response, { newer }) =>
    send(response, writeJson(change(newer)))

const signedAs =
  (facts: Parameters<typeof validList>[1]): Behaviour['answer'] =>
  async (response, { by }) =>
    send(response, writeJson(await validList(by, facts)))

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Behaviour['answer'] =>
  (response, { newer }) =>
    void response.writeHead(code, headers).end(code === 204 || code === 304 ? undefined : writeJson(newer))

const unreachable: readonly (readonly [string, Behaviour['answer']])[] = [
  ['an error with a good list in it', status(500)],
  ['another success', status(203)],
  ['a partial content', status(206, { 'content-range': 'bytes 0-1/2' })],
  ['no content', status(204)],
  ['nothing new', status(304)],
  ['a redirect to a good list', status(302, { location: '/crl/honest' })],
  ['a redirect that keeps the method', status(307, { location: '/crl/honest' })],
  ['a cut before the head', (response) => void response.destroy()],
  ['no HTTP at all', (response) => void response.socket?.end('no HTTP\r\n\r\n')],
  [
    'a cut inside the body',
    (response, { newer }) => {
      const body = writeJson(newer)
      response.writeHead(200, { 'content-length': String(body.length) })
      response.write(body.slice(0, -10), () => response.destroy())
    },
  ],
  ['silence', () => undefined],
  [
    'one byte at a time',
    (response, { newer }) => {
      const body = writeJson(newer)
      response.writeHead(200)
      let at = 0
      const timer = setInterval(() => {
        if (at >= body.length || response.destroyed) clearInterval(timer)
        else response.write(body.charAt(at))
        at += 1
      }, 200)
    },
  ],
]

const tooLarge: readonly (readonly [string, Behaviour['answer']])[] = [
  [
    'too large by its own word',
    (response) => response.writeHead(200, { 'content-length': String(MAX_LIST_BYTES + 1) }).flushHeaders(),
  ],
  [
    'too large while it is read',
    (response, { newer }) => {
      response.writeHead(200)
      response.write(writeJson(newer))
      const more = '['.repeat(1024 * 1024)
      const pour = (left: number): void => {
        if (left === 0) response.end()
        else response.write(more, () => pour(left - 1))
      }
      pour(65)
    },
  ],
]

const malformed: readonly (readonly [string, Behaviour['answer']])[] = [
  ['a page', text(() => '<html></html>')],
  ['nothing', text(() => '')],
  ['half a list', text(({ newer, random }) => cutAnywhere(writeJson(newer), random))],
  ['two lists', text(({ newer }) => writeJson(newer) + writeJson(newer))],
  ['a list of lists', text(({ newer }) => `[${writeJson(newer)}]`)],
  ['a list behind a wall of space', text(({ newer }) => ' '.repeat(1024 * 1024) + writeJson(newer))],
  ['a byte order mark', text(({ newer }) => `\uFEFF${writeJson(newer)}`)],
  ['broken UTF-8', text(({ newer }) => Buffer.concat([Buffer.from(writeJson(newer)), Buffer.from([0xc3, 0x28])]))],
  ['a list in a coding that was not requested', (response, { newer }) => coded(response, writeJson(newer))],
  ['a repeated member', text(({ newer }) => writeJson(newer).replace('{', '{"sequence":10,'))],
  ['an unknown member', edited((list) => ({ ...list, extra: 1 }))],
  ['a missing member', edited(({ crl_id: _id, ...list }) => list)],
  ['a fractional sequence', text(({ newer }) => writeJson(newer).replace('"sequence":10', '"sequence":10.0'))],
  ['a sequence as text', text(({ newer }) => writeJson(newer).replace('"sequence":10', '"sequence":"10"'))],
  ['a negative sequence', text(({ newer }) => writeJson(newer).replace('"sequence":10', '"sequence":-10'))],
  ['an endless depth', text(() => '['.repeat(1_000_000))],
  ['a time that is none', edited((list) => ({ ...list, issued_at: '2026-02-30T00:00:00Z' }))],
  ['an end before the beginning', edited((list) => ({ ...list, next_update: list.issued_at }))],
  ['a membership feed', text(({ newer }) => writeJson({ feed_id: 'f', sequence: 10, signatures: newer.signatures }))],
]

const unauthentic: readonly (readonly [string, Behaviour['answer']])[] = [
  ['a revocation taken out', edited((list) => ({ ...list, revoked_certificates: [] }))],
  ['a sequence raised', edited((list) => ({ ...list, sequence: list.sequence + 1 }))],
  ['a longer life', edited((list) => ({ ...list, next_update: writeInstant(systemClock.now() + 48n * HOUR) }))],
  ['no signature', edited((list) => ({ ...list, signatures: [] }))],
  ['a signature of nothing', edited((list) => ({ ...list, signatures: signedBy(list, 'A'.repeat(86)) }))],
  ['a signature under another key id', edited((list) => ({ ...list, signatures: signedBy(list, '', 'another') }))],
  ['the same key id with another key', async (response) => signedByUnknownKey(response, 'na-main')],
  ['the valid list of another issuer', async (response) => signedByUnknownKey(response, 'na-other')],
  [
    'an entry of another issuer',
    signedAs({ entries: [{ certificate_id: 'fresh' }, { certificate_id: 'x', issuer: 'another' }] }),
  ],
]

const refusedLists: readonly (readonly [string, Behaviour['outcome'], Behaviour['answer']])[] = [
  ['an older list', 'rollback', signedAs({ sequence: STORED_SEQUENCE - 1 })],
  ['a newer number issued earlier', 'rollback', signedAs({ issuedAgo: seconds(7200) })],
  ['the same number with other revocations', 'equivocation', signedAs({ sequence: STORED_SEQUENCE })],
  ['a list that has ended', 'stale', signedAs({ issuedAgo: seconds(900), lasts: seconds(600) })],
  ['a list from the future', 'stale', signedAs({ issuedAgo: -seconds(3600) })],
]

/** At least thirty malicious responses, and a valid one, which proves that the others were refused for their defect. */
export const BEHAVIOURS: readonly Behaviour[] = [
  ...unreachable.map(([name, answer]) => ({ name, outcome: 'unreachable', answer }) as const),
  ...tooLarge.map(([name, answer]) => ({ name, outcome: 'too_large', answer }) as const),
  ...malformed.map(([name, answer]) => ({ name, outcome: 'malformed', answer }) as const),
  ...unauthentic.map(([name, answer]) => ({ name, outcome: 'unauthentic', answer }) as const),
  ...refusedLists.map(([name, outcome, answer]) => ({ name, outcome, answer })),
  { name: 'honest', outcome: 'installed', answer: text(({ newer }) => writeJson(newer)) },
]

function cutAnywhere(whole: string, random: Random): string {
  return whole.slice(0, 1 + random.below(whole.length - 1))
}

function coded(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync(body))
}

function signedBy(list: RevocationList, sig: string, keyId?: string): RevocationList['signatures'] {
  return list.signatures.map((own) => ({ key_id: keyId ?? own.key_id, sig: sig === '' ? own.sig : `${sig}==` }))
}

async function signedByUnknownKey(response: ServerResponse, keyId: string): Promise<void> {
  const stranger = await testIssuer('stranger', keyId)
  send(response, writeJson(await validList(stranger)))
}
