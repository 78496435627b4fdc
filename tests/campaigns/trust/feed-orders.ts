import { type JsonObject, readJson, writeJson } from '@chancery/protocol'
import { foreignAttestation, foreignFeed, foreignSovereign, startTestAuthority, wireText } from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, TestResponse, TestAuthority } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary = 'feeds of other sovereigns imported in random orders, against a model (protocol/core 18.3)'
/** Number of orders. Each is a few valid and invalid imports, followed by a check. */
export const defaultCount = 10_000

const SHOWN = 10
const LANES = 8
/** Every second order belongs to one of these networks, whose state lasts for the whole campaign. */
const KNOWN = 20
const MAX_JUMP = 1_000_000

/** Expected state of one issuer, computed from the rules only. */
interface Model {
  readonly issuer: ForeignSovereign
  /** Pinned by a treaty, so no keys have to be sent. */
  readonly isPinned: boolean
  last: number | undefined
  readonly revoked: Set<string>
}

interface Report {
  readonly log: (line: string) => void
  violations: number
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const na = await startTestAuthority({ backend: 'sqlite' })
  try {
    const report: Report = { log, violations: 0 }
    const known = await Promise.all(Array.from({ length: KNOWN }, (_, i) => recognise(na, `KNOWN-${i}`)))
    let imports = 0
    // Each lane has its own orders and its own share of the networks, so the same seed gives the same cases.
    const lanes = Array.from({ length: LANES }, async (_, lane) => {
      const own = known.filter((__, i) => i % LANES === lane)
      for (let order = lane; order < count; order += LANES) {
        const random = seededRandom((seed + Math.imul(order, 0x9e3779b1)) >>> 0)
        const model = chooseModel(own, random, order)
        const name = `order ${order} of ${model.issuer.sovereign_id}`
        const sent = await runOrder(na, model, random, (problem) => complain(report, `${name}: ${problem}`))
        imports += sent
      }
    })
    await Promise.all(lanes)
    log(
      `${imports} imports, ${known.reduce((sum, { revoked }) => sum + revoked.size, 0)} ids revoked by known sovereigns`,
    )
    for (const model of known)
      await checkEverything(na, model, (problem) =>
        complain(report, `${model.issuer.sovereign_id} at the end: ${problem}`),
      )
    return { cases: count, violations: report.violations }
  } finally {
    await na.stop()
  }
}

function chooseModel(known: readonly Model[], random: Random, order: number): Model {
  const chosen = random.chance(50) ? known[random.below(known.length)] : undefined
  const fresh = { isPinned: false, last: undefined, revoked: new Set<string>() }
  return chosen ?? { issuer: foreignSovereign(`FRESH-${order}`), ...fresh }
}

function complain(report: Report, problem: string): void {
  report.violations += 1
  if (report.violations <= SHOWN) report.log(problem)
}

async function recognise(na: TestAuthority, name: string): Promise<Model> {
  const issuer = foreignSovereign(name)
  const body = {
    subject_sovereign_id: name,
    subject_public_keys: [issuer.publicKey],
    scope: { allowed_roles: ['role:client'] },
  }
  const answer = await na.as('privileged')('POST', '/admin/recognition-treaties', body)
  if (answer.status !== 201) throw new Error(`no treaty: ${answer.text}`)
  return { issuer, isPinned: true, last: undefined, revoked: new Set() }
}

/** Imports feeds in a random order, some of them twice, some forged; each response must be that of the model. */
async function runOrder(
  na: TestAuthority,
  model: Model,
  random: Random,
  complainOf: (problem: string) => void,
): Promise<number> {
  const feeds = shuffled(random, makeFeeds(model, random))
  for (const { feed, isForged, acceptJump } of feeds) {
    const expected = predict(model, feed, isForged, acceptJump)
    const answer = await send(na, model, feed, acceptJump)
    const seen = answer.status === 200 ? 'accepted' : `${answer.status} ${codeOf(answer)}`
    if (seen !== expected) complainOf(`sequence ${Number(feed['sequence'])} gave ${seen} instead of ${expected}`)
    if (expected !== 'accepted') continue
    model.last = Number(feed['sequence'])
    for (const id of feed['revoked_attestation_ids'] as readonly string[]) model.revoked.add(id)
  }
  await checkStored(na, model, complainOf)
  await checkVerdicts(na, model, random, complainOf)
  return feeds.length
}

interface Attempt {
  readonly feed: ForeignObject
  readonly isForged: boolean
  readonly acceptJump: boolean
}

function makeFeeds(model: Model, random: Random): Attempt[] {
  const start = model.last ?? -1
  const attempts: Attempt[] = []
  for (let left = 2 + random.below(5); left > 0; left -= 1) {
    const far = random.chance(6) ? MAX_JUMP + random.below(3) - 1 : 0
    const sequence = Math.max(0, start + random.below(7) - 1 + far)
    const pool = Array.from({ length: 12 }, (_, i) => `${model.issuer.sovereign_id}-a${String(i).padStart(2, '0')}`)
    const feed = foreignFeed(
      model.issuer,
      sequence,
      pool.filter(() => random.chance(30)),
    )
    const isForged = random.chance(10)
    attempts.push({ feed: isForged ? forge(feed, random) : feed, isForged, acceptJump: random.chance(3) })
  }
  return random.chance(30) ? [...attempts, ...attempts.slice(0, 1)] : attempts
}

function forge(feed: ForeignObject, random: Random): ForeignObject {
  const thief = foreignSovereign('THIEF')
  const { signatures: _dropped, ...rest } = feed
  return random.pick<ForeignObject>([
    { ...feed, issued_by: 'na-thief' },
    { ...feed, sequence: Number(feed['sequence']) + 1 },
    { ...feed, revoked_attestation_ids: ['forged'] },
    thief.sign(rest),
  ])
}

function predict(model: Model, feed: ForeignObject, isForged: boolean, acceptJump: boolean): string {
  if (isForged) return '400 invalid_signature'
  const sequence = Number(feed['sequence'])
  if (model.last !== undefined && sequence <= model.last) return '409 stale_sequence'
  if (sequence - (model.last ?? 0) > MAX_JUMP && !acceptJump) return '400 invalid_sovereign_revocation_feed'
  return 'accepted'
}

function send(
  na: TestAuthority,
  { issuer, isPinned }: Model,
  feed: ForeignObject,
  acceptJump: boolean,
): Promise<TestResponse> {
  const body = {
    feed: readJson(wireText(feed)) as JsonObject,
    ...(isPinned ? {} : { issuer_public_keys: { [issuer.key_id]: issuer.publicKey, 'na-thief': issuer.publicKey } }),
    ...(acceptJump ? { accept_sequence_jump: true } : {}),
  }
  return na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', body)
}

function codeOf({ json }: TestResponse): string {
  return String((json as { error?: { code?: unknown } } | undefined)?.error?.code)
}

/** Revoked attestations stay revoked, and no other is revoked. */
async function checkStored(na: TestAuthority, model: Model, complainOf: (problem: string) => void): Promise<void> {
  const db = na.core.database.read
  const issuer = model.issuer.sovereign_id
  const rows = await db
    .selectFrom('imported_sovereign_revocations')
    .select('attestation_id')
    .where('issuer_sovereign_id', '=', issuer)
    .execute()
  const stored = new Set(rows.map((row) => row.attestation_id))
  const isSame = stored.size === model.revoked.size && [...stored].every((id) => model.revoked.has(id))
  if (!isSame) complainOf(`stored ${[...stored].sort().join(' ')} instead of ${[...model.revoked].sort().join(' ')}`)
}

/** Returns the public verification of a revoked and an unrevoked attestation of this issuer. */
async function checkVerdicts(
  na: TestAuthority,
  model: Model,
  random: Random,
  complainOf: (problem: string) => void,
): Promise<void> {
  const ids = Array.from({ length: 12 }, (_, i) => `${model.issuer.sovereign_id}-a${String(i).padStart(2, '0')}`)
  const chosen = [...model.revoked][random.below(Math.max(1, model.revoked.size))]
  for (const id of new Set([chosen ?? 'none', ids[random.below(ids.length)] ?? 'none']))
    await checkVerdict(na, model, id, complainOf)
}

async function checkVerdict(
  na: TestAuthority,
  model: Model,
  id: string,
  complainOf: (problem: string) => void,
): Promise<void> {
  const { issuer } = model
  const attestation = wireText(foreignAttestation(issuer, na.core.clock.now(), { attestation_id: id }))
  const entry = { sovereign_id: issuer.sovereign_id, public_keys: [issuer.publicKey], allowed_roles: ['role:client'] }
  const policy = writeJson({ local_sovereign_id: 'TEST-NET', recognized_issuers: [entry] })
  const rawBody = `{"attestation":${attestation},"recognition_policy":${policy}}`
  const answer = await na.request('POST', '/attestations/verify', {
    rawBody,
    headers: { 'content-type': 'application/json' },
  })
  const seen = String((answer.json as { reason?: unknown } | undefined)?.reason)
  const expected = model.revoked.has(id) ? 'locally_revoked' : 'accepted'
  if (seen !== expected) complainOf(`${id} is ${seen} instead of ${expected}`)
}

async function checkEverything(na: TestAuthority, model: Model, complainOf: (problem: string) => void): Promise<void> {
  await checkStored(na, model, complainOf)
  for (const id of model.revoked) await checkVerdict(na, model, id, complainOf)
}

function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const out = [...items]
  for (let i = out.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1)
    const [a, b] = [out[i], out[j]]
    if (a !== undefined && b !== undefined) [out[i], out[j]] = [b, a]
  }
  return out
}
