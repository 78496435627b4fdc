import { type JsonObject, type JsonValue, isJsonObject, readInstant } from '@chancery/protocol'
import { verifyDecisionChain } from '@chancery/sdk/verify'
import { type TestResponse, nodeCaller, testSigner } from '@chancery/testkit'
import { type Expected, type ModelFeed, type Question, predict } from './model.ts'
import type { IssuedAttestation, Sovereign } from './sovereign.ts'
import type { Scenario } from './scenario.ts'

export const CAPABILITIES = ['ledger.read', 'ledger.write', 'cargo.track', 'ledger'] as const

interface Asked {
  readonly at: Sovereign
  readonly issuer: Sovereign
  readonly attestation: IssuedAttestation
  readonly record: JsonObject
  readonly isForged: boolean
  readonly capability: string
  readonly treaty_id: string | undefined
}

export interface Counts {
  decisions: number
  authorized: number
  refused: number
  verified: number
  /** Decisions by denial reason. */
  readonly denials: Record<string, number>
}

/** Asks one authority about a member of another one, and compares with the model. */
export async function askAnything(scenario: Scenario, counts: Counts): Promise<void> {
  const { random } = scenario
  const [at, issuer] = pickParties(scenario)
  if (issuer.attestations.length === 0) return
  const attestation = scenario.pickOne(random.chance(70) ? issuer.attestations.slice(-8) : issuer.attestations)
  const isForged = random.chance(10)
  const named = random.chance(15) && at.treaties.length > 0 ? scenario.pickOne(at.treaties).treaty_id : undefined
  const asked = {
    at,
    issuer,
    attestation,
    record: isForged ? forge(attestation.record) : attestation.record,
    isForged,
    capability: scenario.pickOne(random.chance(75) ? attestation.capabilities : CAPABILITIES),
    treaty_id: named,
  }
  await (random.chance(50) ? askAsOperator(scenario, asked, counts) : askAsNode(scenario, asked, counts))
}

/** Mostly an authority and one that it recognises. */
function pickParties(scenario: Scenario): readonly [Sovereign, Sovereign] {
  const [at, other] = scenario.pickTwo()
  if (at.treaties.length === 0 || scenario.random.chance(30)) return [at, other]
  return [at, scenario.named(scenario.pickOne(at.treaties).subject)]
}

/** Asks about one attestation with its own rights. */
export async function askAbout(
  scenario: Scenario,
  at: Sovereign,
  attestation: IssuedAttestation,
  counts: Counts,
): Promise<void> {
  const [capability = 'ledger.read'] = attestation.capabilities
  const issuer = scenario.named(attestation.issuer)
  const common = { record: attestation.record, isForged: false, capability, treaty_id: undefined }
  await askAsOperator(scenario, { at, issuer, attestation, ...common }, counts)
}

function forge(record: JsonObject): JsonObject {
  return { ...record, roles: ['role:client'], claims: { capabilities: [...CAPABILITIES] }, subject_id: 'someone-else' }
}

function presented({ record, issuer, treaty_id }: Asked): JsonObject {
  const named = treaty_id === undefined ? {} : { treaty_id }
  return { attestation: record, issuer_sovereign_id: issuer.name, ...named }
}

async function askAsOperator(scenario: Scenario, asked: Asked, counts: Counts): Promise<void> {
  const body = { presented: presented(asked), requested_capability: asked.capability }
  const answer = await asked.at.operate('POST', '/admin/boundary/evaluate', body)
  if (answer.status !== 201)
    return complain(scenario, asked, `ask --as operator answers ${answer.status} ${answer.text}`)
  await compare(scenario, asked, answer, counts)
}

/** As the member itself, which has no certificate here; sometimes as another node that has the record. */
async function askAsNode(scenario: Scenario, asked: Asked, counts: Counts): Promise<void> {
  const isThief = scenario.random.chance(10)
  const seed = isThief ? 'thief' : asked.attestation.subjectSeed
  const node = nodeCaller(asked.at.url, await testSigner('node', seed), () => scenario.clock.now())
  const answer = await node.post('/boundary/request', {
    action: 'boundary-request',
    audience: asked.at.key,
    requested_capability: asked.capability,
    presented: presented(asked),
  })
  if (answer.status === 201 && !isThief) {
    if (!expectedWith(scenario, asked, undefined).isSigned)
      complain(scenario, asked, 'a caller without certificate gets a signed decision')
    return compare(scenario, asked, answer, counts)
  }
  counts.refused += 1
  const { code, reason } = refusalOf(answer)
  if (isThief) {
    if (code !== 'attestation_not_bound') complain(scenario, asked, `another key gets ${answer.status} ${answer.text}`)
    return
  }
  const expected = expectedWith(scenario, asked, undefined)
  if (answer.status !== 403 || code !== 'attestation_untrusted' || expected.isSigned || !expected.reasons.has(reason))
    complain(scenario, asked, `refused with ${answer.status} ${answer.text}, expected ${words(expected)}`)
}

async function compare(scenario: Scenario, asked: Asked, answer: TestResponse, counts: Counts): Promise<void> {
  counts.decisions += 1
  const { decision, context } = answer.json as { readonly decision: JsonObject; readonly context: JsonObject }
  const recognition = memberOf(memberOf(context, 'attributes'), 'chancery_recognition')
  const feed = await feedOf(scenario, asked, recognition)
  const expected = expectedWith(scenario, asked, feed)
  const reason = (decision['denial_reason'] ?? null) as string | null
  const isAuthorized = decision['authorized'] === true
  if (isAuthorized !== (reason === null)) complain(scenario, asked, `authorized ${isAuthorized} with ${String(reason)}`)
  if (reason === null) counts.authorized += 1
  else counts.denials[reason] = (counts.denials[reason] ?? 0) + 1
  if (!expected.reasons.has(reason)) {
    const kind = isAuthorized ? 'wrong acceptance' : `wrong denial ${String(reason)}`
    return complain(scenario, asked, `${kind}, expected ${words(expected)}`)
  }
  if (isAuthorized && scenario.random.chance(25)) await followOffline(scenario, asked, answer, counts)
}

/** The feed that the decision names: published by the issuer, and not older than what was certainly imported. */
async function feedOf(
  scenario: Scenario,
  { at, issuer }: Asked,
  recognition: JsonObject,
): Promise<ModelFeed | undefined> {
  const [sequence, issuedAt] = [Number(recognition['feed_sequence']), recognition['feed_issued_at'] ?? null]
  const least = at.imported.get(issuer.name)
  if (issuedAt === null) {
    if (least !== undefined) scenario.found.push(`${at.name} lacks the imported feed ${least} of ${issuer.name}`)
    return undefined
  }
  if (!at.mayHaveImported.has(issuer.name))
    scenario.found.push(`${at.name} has a feed of ${issuer.name} without an order to import`)
  if (least !== undefined && sequence < least)
    scenario.found.push(`${at.name} uses feed ${sequence} of ${issuer.name} after ${least}`)
  if (!issuer.feeds.has(sequence)) await issuer.readFeed()
  const feed = issuer.feeds.get(sequence)
  if (feed === undefined || feed.issued_at !== readInstant(issuedAt as string))
    scenario.found.push(`${at.name} names feed ${sequence} of ${issuer.name}, which was never published`)
  return feed
}

function expectedWith(scenario: Scenario, asked: Asked, feed: ModelFeed | undefined): Expected {
  const { at, issuer, attestation, isForged, capability, treaty_id } = asked
  const earlier = new Set(
    [...issuer.feeds.values()]
      .filter(({ sequence }) => feed !== undefined && sequence < feed.sequence)
      .flatMap(({ ids }) => [...ids]),
  )
  const maxAgeSeconds = at.partners.get(issuer.name)?.maxAge ?? at.maxFeedAge
  const rest: Pick<Question, 'now' | 'treaties'> = { now: scenario.clock.now(), treaties: at.treaties }
  return predict({ attestation, isForged, capability, treaty_id, feed, earlier, maxAgeSeconds, ...rest })
}

/** An auditor with the records and the keys of the authority, and nothing else. */
async function followOffline(scenario: Scenario, asked: Asked, answer: TestResponse, counts: Counts): Promise<void> {
  const { decision, justification_proof, context } = answer.json as {
    readonly [name: string]: JsonObject
  }
  const treaty_id = memberOf(memberOf(context ?? {}, 'attributes'), 'chancery_recognition')['treaty_id']
  const treaty = asked.at.treaties.find((each) => each.treaty_id === treaty_id)
  if (treaty === undefined)
    return complain(scenario, asked, `it rests on the unknown treaty ${JSON.stringify(treaty_id)}`)
  const verdict = await verifyDecisionChain({
    decision: decision ?? {},
    justification: justification_proof ?? {},
    context: context ?? {},
    attestation: asked.record,
    treaty: treaty.record,
    authorityKeys: asked.at.keys,
    at: scenario.clock.now(),
  })
  counts.verified += 1
  if (!verdict.valid) complain(scenario, asked, `offline: ${verdict.reason}`)
}

function complain(scenario: Scenario, { at, attestation, isForged, capability }: Asked, problem: string): void {
  const { attestation_id, issuer } = attestation
  const what = `${isForged ? 'forged ' : ''}${attestation_id} of ${issuer} for ${capability}`
  scenario.found.push(`${at.name} on ${what}: ${problem.slice(0, 600)}`)
}

function words({ reasons, isSigned }: Expected): string {
  const named = [...reasons].map((reason) => reason ?? 'authorized')
  return `${named.join(' or ')}${isSigned ? '' : ', not signed by a key of a treaty'}`
}

function memberOf(value: JsonObject, name: string): JsonObject {
  const member: JsonValue | undefined = value[name]
  return isJsonObject(member) ? member : {}
}

function refusalOf({ json }: TestResponse): { readonly code: unknown; readonly reason: string | null } {
  const error = isJsonObject(json) ? memberOf(json, 'error') : {}
  const { reason } = memberOf(error, 'details')
  return { code: error['code'], reason: typeof reason === 'string' ? reason : null }
}
