import { type JsonObject, readJson, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  ManualClock,
  send,
  startFaultProxy,
  wireText,
} from '@chancery/testkit'
import type { Backend, FaultProxy, ForeignObject, ForeignSovereign } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { Sovereign } from './sovereign.ts'

/** How a partner is reached: not at all, or with a cut after some bytes. */
type LinkState = 'open' | 'cut' | 'breaking'

/** The network between two authorities, in one direction. */
class Link {
  readonly proxy: FaultProxy
  state: LinkState = 'open'

  constructor(proxy: FaultProxy) {
    this.proxy = proxy
  }

  get url(): string {
    return `http://127.0.0.1:${this.proxy.port}`
  }

  /** Each connection of a breaking link ends after some pieces of the response. */
  change(state: LinkState, random: Random): void {
    this.state = state
    this.proxy.isolate(state === 'cut')
    const pieces = new Map<number, number>()
    const breakAt = 1 + random.below(3)
    this.proxy.decide = (direction, _piece, link) => {
      if (state !== 'breaking' || direction === 'to-server') return 'pass'
      const seen = (pieces.get(link) ?? 0) + 1
      pieces.set(link, seen)
      return seen >= breakAt && link % 3 === 0 ? 'cut' : 'pass'
    }
  }
}

/** A few sovereigns, the links between them, one clock, and what was found to be wrong. */
export class Scenario {
  readonly clock: ManualClock = new ManualClock(systemClock.now())
  readonly sovereigns: Sovereign[] = []
  readonly found: string[] = []
  /** After a few, a scenario has shown enough. */
  get isBroken(): boolean {
    return this.found.length >= 10
  }
  readonly random: Random
  readonly #links = new Map<string, Link>()

  private constructor(random: Random) {
    this.random = random
  }

  static async open(random: Random, backend: Backend): Promise<Scenario> {
    const scenario = new Scenario(random)
    const count = 3 + random.below(5)
    for (let i = 0; i < count; i += 1) {
      const maxFeedAge = random.pick([3600, 86_400, 86_400, 86_400])
      const name = `NET-${String.fromCharCode(65 + i)}`
      scenario.sovereigns.push(await Sovereign.open({ name, clock: scenario.clock, backend, maxFeedAge }))
    }
    for (const from of scenario.sovereigns)
      for (const to of scenario.sovereigns)
        if (from !== to) scenario.#links.set(`${from.name}>${to.name}`, new Link(await startFaultProxy(addressOf(to))))
    return scenario
  }

  link(from: Sovereign, to: Sovereign): Link {
    const link = this.#links.get(`${from.name}>${to.name}`)
    if (link === undefined) throw new Error(`no link from ${from.name} to ${to.name}`)
    return link
  }

  get links(): readonly Link[] {
    return [...this.#links.values()]
  }

  /** Two different ones. */
  pickTwo(): readonly [Sovereign, Sovereign] {
    const first = this.pickOne(this.sovereigns)
    return [first, this.pickOne(this.sovereigns.filter((one) => one !== first))]
  }

  pickOne<Item>(items: readonly Item[]): Item {
    const item = items[this.random.below(items.length)]
    if (item === undefined) throw new Error('nothing to choose from')
    return item
  }

  named(name: string): Sovereign {
    const one = this.sovereigns.find((each) => each.name === name)
    if (one === undefined) throw new Error(`there is no ${name}`)
    return one
  }

  /** An authority that was started again has another port. */
  reconnect(to: Sovereign): void {
    for (const from of this.sovereigns) if (from !== to) this.link(from, to).proxy.retarget(addressOf(to))
  }

  /** Time passes, and each feed is read, which signs a new version when it is old. */
  async advance(seconds: number): Promise<void> {
    this.clock.advance(seconds)
    for (const one of this.sovereigns) await this.checkFeed(one)
  }

  /** A feed lists every revoked attestation that is still valid, and no other one. */
  async checkFeed(one: Sovereign): Promise<void> {
    const { ids, sequence } = await one.readFeed()
    const revoked = one.attestations.filter(({ isRevoked }) => isRevoked)
    for (const { attestation_id, expires_at } of revoked)
      if (expires_at > this.clock.now() && !ids.has(attestation_id))
        this.found.push(`feed ${sequence} of ${one.name} lacks the revoked ${attestation_id}`)
    const known = new Set(revoked.map(({ attestation_id }) => attestation_id))
    for (const id of ids) if (!known.has(id)) this.found.push(`feed ${sequence} of ${one.name} lists ${id}`)
  }

  async close(): Promise<void> {
    await Promise.all(this.sovereigns.map((one) => one.close()))
    await Promise.all(this.links.map(({ proxy }) => proxy.close()))
  }
}

function addressOf({ url }: Sovereign): { readonly host: string; readonly port: number } {
  return { host: '127.0.0.1', port: Number(new URL(url).port) }
}

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
