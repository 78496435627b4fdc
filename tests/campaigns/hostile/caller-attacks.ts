import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import {
  GATEWAY_CALLER_HEADER,
  HOUR,
  joinAudience,
  merkleLeaf,
  signGatewayCaller,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, newNodeCaller, send, type TestResponse, testSigner } from '@chancery/testkit'
import { proveSvid } from '../../../apps/authority/src/features/admission/test-svid.suite.ts'
import { eventActor } from '../../../apps/console/src/operator/words/events.ts'
import { text as textOf } from '../lib/rows.ts'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { FACT_CAPABILITY, isAllowed, isOk, member, membersOf } from './members.ts'
import { post, type RawResponse } from './raw-requests.ts'
import { type AuthoritySetup, DAILY_BYTES, decider, trustedGateway } from './setup.ts'

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

/** Between two responses on two connections, on a busy machine. */
const TOLERANCE_MS = 50

const oversized: Attack<AuthoritySetup> = {
  name: 'large contexts',
  async run(setup, from, random) {
    const { ask } = await member(setup, from)
    const other = await member(setup, from)
    const large = await ask('ledger.read', { x: random.pick(['x', 'é']).repeat(17_000 + random.below(180_000)) })
    const complaints = large.status === 413 ? [] : [`a large context was answered with ${large.status}`]
    // Denied requests are stored, too, and end at the quota of the key.
    const answers = [large]
    const most = Math.ceil(DAILY_BYTES / 12_000) + 1
    while (answers.at(-1)?.status !== 429 && answers.length <= most)
      answers.push(await ask('nothing.allowed', { x: 'x'.repeat(12_000) }))
    if (answers.at(-1)?.status !== 429) complaints.push(`one key stored ${answers.length} large requests`)
    const spared = await other.ask('ledger.read')
    if (!isAllowed(spared)) complaints.push(`another node was answered with ${spared.status}`)
    return outcomeOf([...answers, spared], complaints)
  },
}

const uncovered: Attack<AuthoritySetup> = {
  name: 'requests that no policy covers',
  async run(setup, from, random) {
    const { ask, attestationId } = await member(setup, from)
    const answers = [await ask('vault.open'), await ask('ledger.read', { amount: 1001 + random.below(1e6) })]
    const asked = { attestation_id: attestationId, requested_capability: 'vault.open' }
    const operator = await decider(setup, random)
    const evaluated = await operator('POST', '/admin/boundary/evaluate', asked, { from })
    const complaints = [...answers, evaluated].some(isAllowed) ? ['a request was allowed without a policy'] : []
    const covered = await ask('ledger.read')
    if (!isAllowed(covered)) complaints.push(`a covered request was answered with ${covered.status}`)
    return outcomeOf([...answers, evaluated, covered], complaints)
  },
}

const lateDecisions: Attack<AuthoritySetup> = {
  name: 'decisions around a revocation',
  async run(setup, from, random) {
    const { certId, attestationId, ask } = await member(setup, from)
    const first = await ask('ledger.read')
    const [answers, complaints] = [[first], isAllowed(first) ? [] : ['no decision was allowed before']]
    let revokedAt = Number.POSITIVE_INFINITY
    const lane = async (): Promise<void> => {
      for (let isOver = false; !isOver && answers.length < 60;) {
        const sentAt = performance.now()
        isOver = sentAt > revokedAt
        const answer = await ask('ledger.read')
        const lateMs = performance.now() - revokedAt
        answers.push(answer)
        if (!isAllowed(answer)) continue
        if (isOver) complaints.push('a request after a revocation was allowed')
        else if (lateMs > TOLERANCE_MS)
          complaints.push(`a decision was allowed ${Math.round(lateMs)} ms after a revocation`)
      }
    }
    const isNode = random.chance(50)
    const [path, body]: [string, JsonObject] = isNode
      ? ['/admin/revoke', { cert_id: certId, reason: 'key_compromise' }]
      : [`/admin/attestations/${attestationId}/revoke`, {}]
    if (isNode) setup.revocations += 1
    const revoke = async (): Promise<void> => {
      await pause(random.below(120))
      const answer = await setup.authority.as('privileged')('POST', path, body, { from })
      revokedAt = performance.now()
      if (!isOk(answer)) complaints.push(`the revocation was answered with ${answer.status}`)
    }
    await Promise.all([revoke(), ...Array.from({ length: 6 }, lane)])
    return outcomeOf(answers, complaints)
  },
}

const guessedNames: Attack<AuthoritySetup> = {
  name: 'guessed names of a commitment',
  async run({ authority, agreement, agreed, url }, from, random) {
    const salted = random.chance(70)
    const body = { capabilities: agreed, agreement, ...(salted ? { salted: true } : {}) }
    const made = accepted(await authority.as('standard')('POST', '/admin/disclosure/commit', body, { from }), 201)
    const commitment = (salted ? made['commitment'] : made) as JsonObject
    const [shown = '', ...hidden] = agreed
    const seed = salted ? { seed: made['seed'] ?? null } : {}
    const named = { capabilities: agreed, commitment, prover_sovereign_id: 'PARTNER-NET' }
    const prove = (capability: string, more: JsonObject): Promise<RawResponse> =>
      post({ url, from }, { path: '/disclosure/prove', body: writeJson({ ...named, capability, ...more }) })
    const proved = await prove(shown, seed)
    const proof = membersOf(proved)
    const verify = await post({ url, from }, { path: '/disclosure/verify', body: writeJson({ proof, commitment }) })
    const complaints = membersOf(verify)['valid'] === true ? [] : [`a proof is not valid: ${verify.text.slice(0, 200)}`]
    // What the partner has: the commitment and a proof of one name.
    const has = JSON.stringify([commitment, proof])
    if (salted && hidden.some((name) => has.includes(merkleLeaf(name)) || has.includes(name)))
      complaints.push('a hidden name can be guessed from a salted commitment')
    const guesses = [await prove(random.pick(['ledger.append', 'ledger.close']), {})]
    guesses.push(await prove(shown, { seed: 'ab'.repeat(32) }))
    if (salted && guesses.some(isOk)) complaints.push('the authority confirms a guess without the seed')
    if ((membersOf(verify)['warning'] === undefined) !== salted) complaints.push('the label of the form is wrong')
    return outcomeOf([proved, verify, ...guesses], complaints)
  },
}

export const DECISION_ATTACKS = [oversized, uncovered, lateDecisions, lateDecisions, guessedNames] as const
