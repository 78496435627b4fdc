import { type JsonObject, readJson, writeJson } from '@chancery/protocol'
import { accepted, foreignAttestation, foreignFeed, foreignSovereign, send, wireText } from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import type { Scenario } from './scenario.ts'
import type { Sovereign } from './sovereign.ts'

/** Feeds of networks without an authority here, which an operator imports in any order (protocol/core 18.3). */

const MAX_JUMP = 1_000_000
const IDS = 12

/** Expected state of one issuer at one authority, computed from the rules only. */
interface Imported {
  readonly issuer: ForeignSovereign
  /** Pinned by a treaty, so no keys have to be sent. */
  readonly isPinned: boolean
  last: number | undefined
  readonly revoked: Set<string>
}

interface Attempt {
  readonly feed: ForeignObject
  readonly isForged: boolean
  readonly acceptJump: boolean
}

const KNOWN = new WeakMap<Sovereign, Imported[]>()

const ORDERS = 4

/** Some orders of feeds, each at one authority. */
export async function importFeeds(scenario: Scenario): Promise<void> {
  for (let order = 0; order < ORDERS; order += 1) await runOrder(scenario, scenario.pickOne(scenario.sovereigns))
}

/** A few feeds, some older, forged, or sent twice: each response, and each verdict afterwards, is that of the model. */
async function runOrder(scenario: Scenario, at: Sovereign): Promise<void> {
  const model = await chooseIssuer(at, scenario.random)
  const complain = (problem: string): void =>
    void scenario.found.push(`${at.name}, feeds of ${model.issuer.sovereign_id}: ${problem}`)
  for (const { feed, isForged, acceptJump } of attempts(model, scenario.random)) {
    const expected = predict(model, feed, isForged, acceptJump)
    const seen = await sendFeed(at, model, feed, acceptJump)
    if (seen !== expected) complain(`sequence ${Number(feed['sequence'])} gave ${seen} instead of ${expected}`)
    if (expected !== 'accepted') continue
    model.last = Number(feed['sequence'])
    for (const id of feed['revoked_attestation_ids'] as readonly string[]) model.revoked.add(id)
  }
  // Revoked attestations stay revoked, and no other is revoked.
  for (const id of [...idsOf(model), 'forged']) {
    const seen = await verdictOn(scenario, at, model, id)
    const expected = model.revoked.has(id) ? 'locally_revoked' : 'accepted'
    if (seen !== expected) complain(`${id} is ${seen} instead of ${expected}`)
  }
}

/** One that the authority knows already, or a new one, every second with a treaty. */
async function chooseIssuer(at: Sovereign, random: Random): Promise<Imported> {
  const known = KNOWN.get(at) ?? []
  KNOWN.set(at, known)
  const chosen = random.chance(60) ? known[random.below(known.length + 1)] : undefined
  if (chosen !== undefined) return chosen
  const issuer = foreignSovereign(`FOREIGN-${known.length}`)
  const isPinned = random.chance(50)
  if (isPinned) {
    const subject = { subject_sovereign_id: issuer.sovereign_id, subject_public_keys: [issuer.publicKey] }
    const scope = { allowed_roles: ['role:client'] }
    accepted(await at.operate('POST', '/admin/recognition-treaties', { ...subject, scope }), 201)
  }
  const model = { issuer, isPinned, last: undefined, revoked: new Set<string>() }
  known.push(model)
  return model
}

function idsOf({ issuer }: Imported): readonly string[] {
  return Array.from({ length: IDS }, (_, i) => `${issuer.sovereign_id}-a${String(i).padStart(2, '0')}`)
}

function attempts(model: Imported, random: Random): readonly Attempt[] {
  const start = model.last ?? -1
  const made = Array.from({ length: 2 + random.below(5) }, () => {
    const far = random.chance(6) ? MAX_JUMP + random.below(3) - 1 : 0
    const sequence = Math.max(0, start + random.below(7) - 1 + far)
    const ids = idsOf(model).filter(() => random.chance(30))
    const feed = foreignFeed(model.issuer, sequence, ids)
    const isForged = random.chance(15)
    return { feed: isForged ? forge(feed, random) : feed, isForged, acceptJump: random.chance(3) }
  })
  return random.chance(30) ? [...made, ...made.slice(0, 1)] : made
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

function predict(model: Imported, feed: ForeignObject, isForged: boolean, acceptJump: boolean): string {
  if (isForged) return '400 invalid_signature'
  const sequence = Number(feed['sequence'])
  if (model.last !== undefined && sequence <= model.last) return '409 stale_sequence'
  if (sequence - (model.last ?? 0) > MAX_JUMP && !acceptJump) return '400 invalid_sovereign_revocation_feed'
  return 'accepted'
}

async function sendFeed(at: Sovereign, model: Imported, feed: ForeignObject, acceptJump: boolean): Promise<string> {
  const { key_id, publicKey } = model.issuer
  const { status, json } = await at.operate('POST', '/admin/sovereign-revocation-feeds/import', {
    feed: readJson(wireText(feed)) as JsonObject,
    ...(model.isPinned ? {} : { issuer_public_keys: { [key_id]: publicKey, 'na-thief': publicKey } }),
    ...(acceptJump ? { accept_sequence_jump: true } : {}),
  })
  if (status === 200) return 'accepted'
  return `${status} ${String((json as { error?: { code?: unknown } } | undefined)?.error?.code)}`
}

/** The public verification of an attestation of this issuer. */
async function verdictOn(scenario: Scenario, at: Sovereign, { issuer }: Imported, id: string): Promise<string> {
  const attestation = wireText(foreignAttestation(issuer, scenario.clock.now(), { attestation_id: id }))
  const entry = { sovereign_id: issuer.sovereign_id, public_keys: [issuer.publicKey], allowed_roles: ['role:client'] }
  const policy = writeJson({ local_sovereign_id: at.name, recognized_issuers: [entry] })
  const rawBody = `{"attestation":${attestation},"recognition_policy":${policy}}`
  const headers = { 'content-type': 'application/json' }
  const { json } = await send(at.url, 'POST', '/attestations/verify', { rawBody, headers })
  return String((json as { reason?: unknown } | undefined)?.reason)
}
