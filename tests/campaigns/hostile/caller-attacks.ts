import { randomUUID } from 'node:crypto'
import { GATEWAY_CALLER_HEADER, HOUR, joinAudience, signGatewayCaller, writeInstant } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type TestResponse, newNodeCaller, send, testSigner } from '@chancery/testkit'
import { proveSvid } from '../../../apps/authority/src/features/admission/test-svid.suite.ts'
import { eventActor } from '../../../apps/console/src/operator/words/events.ts'
import { text as textOf } from '../lib/rows.ts'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { isAllowed, isOk, member } from './members.ts'
import { FACT_CAPABILITY } from './policies.ts'
import type { RawResponse } from './raw-requests.ts'
import { type AuthoritySetup, trustedGateway } from './setup.ts'

/** Questions of one caller to one system at the same time (protocol/trust-operations 5.13). */
const OPEN_OF_CALLER = 4
/** Joins of one caller in a minute (protocol/core 21). */
const JOINS_PER_MINUTE = 10

const silentFacts: Attack<AuthoritySetup> = {
  name: 'questions to a system that does not answer',
  async run(setup, from, random) {
    const [many, other] = [await member(setup, from), await member(setup, from)]
    const caller = `silent-${randomUUID()}`
    const questions = Array.from({ length: 6 + random.below(6) }, (_, n) => many.ask(FACT_CAPABILITY, { caller, n }))
    const askOther = (n: number): Promise<RawResponse> => other.ask(FACT_CAPABILITY, { caller: 'other', n })
    let spared = await askOther(0)
    // On a busy machine the other system may answer after its time limit.
    for (let n = 1; n < 3 && !isAllowed(spared); n += 1) spared = await askOther(n)
    const answers = await Promise.all(questions)
    const most = setup.facts.mostOpen(caller)
    const complaints = answers.some(isAllowed) ? ['a decision without a fact was allowed'] : []
    if (!isAllowed(spared)) complaints.push(`another caller: ${spared.status} ${spared.text.slice(0, 300)}`)
    if (most > OPEN_OF_CALLER) complaints.push(`one caller had ${most} questions open`)
    if (most === 0) complaints.push('the other system was not asked')
    return outcomeOf([...answers, spared], complaints)
  },
}

const namedCallers: Attack<AuthoritySetup> = {
  name: 'callers behind a gateway',
  async run({ url, network }, from, random) {
    const [gateway, stranger] = [await trustedGateway(), await testSigner('stranger')]
    const audience = network.authority.publicKey
    const sign = (name: string, changes: object = {}, by = gateway): Promise<string> => {
      const created = writeInstant(systemClock.now())
      return signGatewayCaller({ name, created, audience, method: 'POST', target: '/join', ...changes }, by)
    }
    const join = async (value?: string): Promise<TestResponse> => {
      const headers = value === undefined ? {} : { [GATEWAY_CALLER_HEADER]: value }
      return send(url, 'POST', '/join', { from, headers, body: { invite_token: randomUUID() } })
    }
    const [greedy, other] = [randomUUID(), randomUUID()]
    const spent = await Promise.all(Array.from({ length: JOINS_PER_MINUTE + 2 }, async () => join(await sign(greedy))))
    const spared = [await join(await sign(other)), await join()]
    const complaints = spent.some(isLimited) ? [] : [`one caller of a gateway joined ${spent.length} times`]
    if (spared.some(isLimited)) complaints.push('a caller of a gateway used up the limit of another one')
    // A name that the gateway did not give counts as the address.
    const forge = random.pick([
      () => sign(randomUUID(), {}, stranger),
      () => sign(randomUUID(), { target: '/renew' }),
      () => sign(randomUUID(), { method: 'GET' }),
      () => sign(randomUUID(), { audience: stranger.publicKey }),
      () => sign(randomUUID(), { created: writeInstant(systemClock.now() - HOUR) }),
      async () => `${await sign(randomUUID())} x`,
    ])
    const forged = await Promise.all(Array.from({ length: JOINS_PER_MINUTE + 2 }, async () => join(await forge())))
    if (!forged.some(isLimited)) complaints.push('invented callers have no limit')
    return outcomeOf([...spent, ...spared, ...forged], complaints)
  },
}

const isLimited = ({ status }: Pick<TestResponse, 'status'>): boolean => status === 429

/** What console and audit log say of calls that name an operator and are not signed by it. */
const claimedOperators: Attack<AuthoritySetup> = {
  name: 'calls in the name of an operator',
  async run({ url, authority, rows }, from, random) {
    const name = random.pick(['op-privileged', 'op-standard', 'op-nobody'])
    const headers = {
      'x-admin-key-id': name,
      'x-admin-timestamp': writeInstant(systemClock.now() - (random.chance(30) ? HOUR : 0n)),
      'x-admin-nonce': randomUUID(),
      'x-admin-signature': Buffer.alloc(64, random.below(256)).toString('base64'),
    }
    const path = random.pick(['/admin/revoke', '/admin/invite', '/admin/policy'])
    const answer = await send(url, 'POST', path, { from, headers, body: {} })
    const real = await authority.as('standard')('GET', '/admin/nodes?limit=1', undefined, { from })
    const found = await rows.query(
      `select event_type, event_json from audit_events where event_json like '%"${from}"%'`,
    )
    const complaints = isOk(answer) ? ['a forged operator call was answered'] : []
    if (found.length === 0) complaints.push('no row about a forged operator call')
    for (const row of found) {
      const { details } = JSON.parse(textOf(row, 'event_json')) as { readonly details: JsonObject }
      const actor = eventActor(textOf(row, 'event_type'), details, name)
      if (!actor.startsWith('claims to be ') && actor !== 'an unknown caller')
        complaints.push(`${textOf(row, 'event_type')} is shown as an act of ${actor}`)
    }
    return outcomeOf([answer, real], complaints)
  },
}

const HASHES = ['sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const
const STRONG: ReadonlySet<string> = new Set(['sha256', 'sha384', 'sha512'])

/** Certificates of a configured root, whose signatures have a weak hash or a strong one. */
const weakPaths: Attack<AuthoritySetup> = {
  name: 'certificate paths with weak hashes',
  async run({ url, network, svids }, from, random) {
    const [text, mask] = [random.pick(HASHES), random.pick(HASHES)]
    const isPss = random.chance(80)
    const sigopts = ['rsa_padding_mode:pss', `rsa_mgf1_md:${mask}`, 'rsa_pss_saltlen:20']
    const how = [`-${text}`, ...(isPss ? sigopts.flatMap((each) => ['-sigopt', each]) : [])]
    const isStrong = STRONG.has(text) && (!isPss || STRONG.has(mask))
    const certificate_chain = await svids.issue(how)
    const node = await newNodeCaller(url, `svid-${randomUUID()}`, systemClock)
    const now = Math.floor(Date.now() / 1000)
    const claims = { aud: joinAudience(network.authority.publicKey, node.key), iat: now, exp: now + 300 }
    const token = proveSvid(svids.key, claims)
    const evidence = { rule_id: svids.rule.rule_id, token, certificate_chain: [...certificate_chain] }
    const answer = await node.post('/join', { evidence }, { from })
    const complaints =
      isOk(answer) === isStrong
        ? []
        : [`a path with ${how.join(' ')} was answered with ${answer.status} ${answer.text}`]
    return outcomeOf([answer], complaints)
  },
}

export const CALLER_ATTACKS = [silentFacts, namedCallers, claimedOperators, weakPaths] as const
