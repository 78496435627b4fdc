import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, readJson, writeInstant, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { costlyVerifications, foreignAttestation, foreignSovereign, foreignTreaty, wireText } from '@chancery/testkit'
import type { ForeignObject } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { exchange, post, type RawResponse, readLittle, withhold } from './raw-requests.ts'
import type { AuthoritySetup } from './setup.ts'

/** The responses to an attack, and the violations found. */
export interface Outcome {
  readonly statuses: readonly number[]
  readonly complaints: readonly string[]
}

export interface Attack<Stage> {
  readonly name: string
  run(setup: Stage, from: string, random: Random): Promise<Outcome>
}

export function outcomeOf(answers: readonly RawResponse[], complaints: readonly string[] = []): Outcome {
  return { statuses: answers.map(({ status }) => status), complaints }
}

const WITHHELD_PATHS = [
  '/admin/sovereign-revocation-feeds/import',
  '/attestations/verify',
  '/trust-evidence/verify',
  '/evidence/execution',
  '/heartbeat',
  '/join',
  '/renew',
] as const

/** By the cost of making one: bodies without free content, with a long text, with many values. */
const BODIES = [
  costlyVerifications(systemClock.now()),
  costlyVerifications(systemClock.now(), { kind: 'text', bytes: 60_000 }),
  costlyVerifications(systemClock.now(), { kind: 'text', bytes: 1_900_000 }),
  costlyVerifications(systemClock.now(), { kind: 'values', count: 40_000 }),
].map((bodies) => [...bodies].map(([path, text]) => ({ path, body: Buffer.from(text) })))

function costly(random: Random): { readonly path: string; readonly body: Buffer } {
  // Small bodies cost most for their size and are drawn most often.
  const bodies = BODIES[random.chance(60) ? 0 : random.below(BODIES.length)] ?? []
  return bodies[random.below(bodies.length)] ?? { path: '/', body: Buffer.alloc(0) }
}

const withheldBodies: Attack<AuthoritySetup> = {
  name: 'withheld bodies',
  async run({ url }, from, random) {
    const announced = random.pick([600, 65_536, 2_097_152, 8_388_608])
    const sent = Math.min(announced - 1, random.pick([0, 1, 500, 65_536, 1_048_576]))
    const connections = 1 + random.below(sent > 100_000 ? 6 : 24)
    const plan = { path: random.pick(WITHHELD_PATHS), announced, sent, connections }
    return outcomeOf(await withhold({ url, from }, plan, 20 + random.below(120)))
  },
}

const costlyVerify: Attack<AuthoritySetup> = {
  name: 'costly verifications',
  async run({ url }, from, random) {
    const requests = Array.from({ length: 1 + random.below(4) }, () => post({ url, from }, costly(random)))
    return outcomeOf(await Promise.all(requests))
  },
}

const abandonedVerify: Attack<AuthoritySetup> = {
  name: 'abandoned verifications',
  async run({ url }, from, random) {
    const requests = Array.from({ length: 1 + random.below(8) }, () =>
      post({ url, from }, costly(random), random.below(60)),
    )
    return outcomeOf(await Promise.all(requests))
  },
}

const junkEvidence: Attack<AuthoritySetup> = {
  name: 'junk evidence',
  async run({ url }, from, random) {
    const junk = (): JsonObject => ({
      evidence_id: randomUUID(),
      decision_id: random.chance(50) ? randomUUID() : 'x'.repeat(random.below(3000)),
      executor_sovereign_id: 'junk',
      execution_parameters: { text: 'j'.repeat(random.below(4000)) },
      signature: { key_id: 'k', sig: randomBytes(64).toString('base64') },
    })
    const bodies = Array.from({ length: 1 + random.below(60) }, () => writeJson({ evidence: junk() }))
    const answers = await Promise.all(bodies.map((body) => post({ url, from }, { path: '/evidence/execution', body })))
    const taken = answers.filter(({ status }) => status >= 200 && status < 300)
    return outcomeOf(answers, taken.length > 0 ? ['junk was taken as evidence'] : [])
  },
}

const badCredentials: Attack<AuthoritySetup> = {
  name: 'bad credentials',
  async run({ url }, from, random) {
    const header = (good: string): string => random.pick([good, good, good, '', 'x'.repeat(300), good.slice(1)])
    const headers = (): Record<string, string> => ({
      'x-admin-key-id': header(random.pick(['op-privileged', 'op-standard', 'op-nobody'])),
      'x-admin-timestamp': header(writeInstant(systemClock.now())),
      'x-admin-nonce': header(randomUUID()),
      'x-admin-signature': header(randomBytes(64).toString('base64')),
    })
    const paths = [
      '/admin/revoke',
      '/admin/policy',
      '/admin/invite',
      '/admin/sovereign-revocation-feeds/import',
    ] as const
    const fill = { ids: Array.from({ length: random.chance(10) ? 20_000 : 5 }, (_, n) => `id ${n}`) }
    const bodies = Array.from({ length: 1 + random.below(5) }, () =>
      post({ url, from }, { path: random.pick(paths), body: JSON.stringify(fill), headers: headers() }),
    )
    const answers = await Promise.all(bodies)
    const passed = answers.filter(({ status }) => status >= 200 && status < 400)
    return outcomeOf(answers, passed.length > 0 ? ['a forged operator call was answered'] : [])
  },
}

const guessedInvites: Attack<AuthoritySetup> = {
  name: 'guessed invites',
  async run(setup, from, random) {
    const { url, node } = setup
    const guess = async (): Promise<RawResponse> => {
      const body = await node.prove({ invite_token: randomBytes(32).toString('base64url') })
      return post({ url, from }, { path: '/join', body: writeJson(body) })
    }
    const answers = await Promise.all(Array.from({ length: 1 + random.below(6) }, guess))
    return outcomeOf(answers, answers.some(({ status }) => status === 201) ? ['a guessed invite was taken'] : [])
  },
}

const TARGETS = [
  '/%6detrics',
  '/%6d%65%74%72%69%63%73',
  '//metrics',
  '/metrics/.',
  '/./metrics',
  '/../metrics',
  '/%2e%2e/metrics',
  '/crl%00',
  '/crl%c0%af',
  '/%',
  '/crl?x=%zz',
  `/crl?${'a=1&'.repeat(30)}`,
  `/${'a'.repeat(5000)}`,
  '/keys/%ff',
  '*',
  'http://other/crl',
] as const

const FRAMINGS = [
  'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
  'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'Content-Length: -1\r\n\r\n',
  'Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}',
  'Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}',
  'Content-Length: 2\r\n\r\n[]',
  'Content-Length: 14\r\n\r\n{"a":1,"a":2} ',
  'Content-Length: 9\r\n\r\n{"a":1e99',
  'X: \u0000\r\n\r\n',
  `${'X-Many: 1\r\n'.repeat(80)}\r\n`,
  `X-Long: ${'a'.repeat(20_000)}\r\n\r\n`,
  'Transfer-Encoding: chunked\r\n\r\nffffffff\r\n',
  'Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}',
] as const

const oddRequests: Attack<AuthoritySetup> = {
  name: 'odd encodings',
  async run({ url }, from, random) {
    const bytes = random.chance(50)
      ? `${random.pick(['GET', 'HEAD', 'POST', 'TRACE', 'BREW'])} ${random.pick(TARGETS)} HTTP/1.1\r\nHost: x\r\n\r\n`
      : `POST ${random.pick(['/join', '/attestations/verify', '/admin/revoke'])} HTTP/1.1\r\nHost: x\r\n${random.pick(FRAMINGS)}`
    return outcomeOf([await exchange({ url, from }, Buffer.from(bytes, 'latin1'), 400)])
  },
}

const slowReaders: Attack<AuthoritySetup> = {
  name: 'unread responses',
  async run({ url }, from, random) {
    const path = random.pick(['/crl', '/connectome.json', '/recognition-graph', '/swagger.json', '/'])
    await readLittle({ url, from }, path, 1 + random.below(20), 20 + random.below(60))
    return outcomeOf([])
  },
}

const replays: Attack<AuthoritySetup> = {
  name: 'replayed and edited calls',
  async run({ url, node, certId }, from, random) {
    const body = await node.prove({ cert_id: certId, status: 'healthy' })
    const edited = { ...body, status: 'degraded' }
    const beat = (sent: JsonObject): Promise<RawResponse> =>
      post({ url, from }, { path: '/heartbeat', body: writeJson(sent) })
    const first = await beat(random.chance(50) ? edited : body)
    const second = await beat(body)
    const third = await beat(body)
    const complaints = third.status === 200 ? ['a spent proof was taken again'] : []
    if (first.status === 200 && second.status === 200) complaints.push('one proof was taken twice')
    return outcomeOf([first, second, third], complaints)
  },
}

const editedRecords: Attack<AuthoritySetup> = {
  name: 'edited records',
  async run({ url, treaty, attestation }, from, random) {
    const edit = (record: JsonObject): JsonObject => {
      const names = Object.keys(record).filter((name) => typeof record[name] === 'string' && name !== 'signatures')
      const name = names[random.below(names.length)] ?? 'issued_by'
      return { ...record, [name]: `${record[name] as string}x` }
    }
    const isTreaty = random.chance(50)
    const record = edit(isTreaty ? treaty : attestation)
    const [path, body] = isTreaty
      ? ['/recognition-treaties/verify', { treaty: record }]
      : ['/attestations/verify', { attestation: record }]
    const answer = await post({ url, from }, { path, body: writeJson(body) })
    return outcomeOf([answer], isAccepted(answer) ? ['an edited record was accepted'] : [])
  },
}

const secondHand: Attack<AuthoritySetup> = {
  name: 'recognition at second hand',
  async run({ url, partner }, from, random) {
    const evil = foreignSovereign('EVIL-NET', `evil-${random.below(16)}`)
    const now = systemClock.now()
    const roles = random.pick(['role:client', 'role:operator', 'role:anchor'])
    const treaty = foreignTreaty(partner, evil, now, {
      scope: { allowed_roles: [roles], accepted_statuses: ['active'], claims: {} },
    })
    const attestation = foreignAttestation(evil, now, { roles: [roles] })
    const keys: ForeignObject = random.chance(30) ? { treaty_issuer_public_keys: [partner.publicKey] } : {}
    const body = wireText({ treaty, attestation, ...keys })
    const answer = await post({ url, from }, { path: '/attestations/verify-with-treaty', body })
    const complaints: string[] = []
    if (isAccepted(answer) && keys['treaty_issuer_public_keys'] === undefined)
      complaints.push('a member of a third sovereign was accepted')
    if (member(answer, 'counts_here') === true) complaints.push('recognition at second hand counts here')
    return outcomeOf([answer], complaints)
  },
}

function member({ text }: RawResponse, name: string): unknown {
  try {
    return (readJson(text) as JsonObject)[name]
  } catch {
    return undefined
  }
}

function isAccepted(answer: RawResponse): boolean {
  return answer.status === 200 && member(answer, 'accepted') === true
}

/** Many kinds at once from one address. */
const mixed: Attack<AuthoritySetup> = {
  name: 'several attacks at once',
  async run(setup, from, random) {
    const parts = await Promise.all(
      Array.from({ length: 3 }, async () => {
        await pause(random.below(20))
        return random.pick(SIMPLE).run(setup, from, random)
      }),
    )
    return {
      statuses: parts.flatMap(({ statuses }) => statuses),
      complaints: parts.flatMap(({ complaints }) => complaints),
    }
  },
}

const SIMPLE = [
  withheldBodies,
  costlyVerify,
  abandonedVerify,
  junkEvidence,
  badCredentials,
  guessedInvites,
  oddRequests,
  slowReaders,
  replays,
  editedRecords,
  secondHand,
] as const

export const AUTHORITY_ATTACKS: readonly [Attack<AuthoritySetup>, ...Attack<AuthoritySetup>[]] = [...SIMPLE, mixed]
