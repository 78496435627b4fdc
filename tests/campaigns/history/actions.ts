import { isJsonObject, type JsonObject, readInstant, readJson, writeInstant } from '@chancery/protocol'
import {
  accepted,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  nodeCaller,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, NodeCaller } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { text } from '../lib/rows.ts'
import type { PastAuthority } from './authority.ts'
import type { ModelRecord, TrustModel } from './model.ts'

/** One thing that happens at a time, in seconds from the beginning. */
export interface Action {
  readonly at: number
  readonly run: () => Promise<void>
}

/** The parts of every history. */
export interface World {
  readonly authority: PastAuthority
  readonly model: TrustModel
  readonly random: Random
  /** Records as JSON, by id: for questions with the record. */
  readonly texts: Map<string, JsonObject>
  /** Of the recognition policy in force. */
  readonly policyIds: Set<string>
}

export const SPAN_SECONDS = 4 * 86_400
const ROLES = ['role:client', 'role:service', 'role:anchor'] as const
const REASONS = ['key_compromise', 'cessation_of_operation', 'unspecified'] as const

/** The random history of one record, and of those that belong to it. */
export async function planHistory(world: World, number: number): Promise<readonly Action[]> {
  const kind = world.random.below(100)
  if (kind < 40) return planCertificate(world, await nodeOf(world, number))
  if (kind < 60) return planAttestation(world, number)
  return kind < 72 ? planTreaty(world, number) : planPartner(world, number)
}

function begin({ random }: World): number {
  return random.below(SPAN_SECONDS - 7200)
}

const instant = (value: JsonObject, name: string): bigint => readInstant(text(value, name)) ?? 0n

function noteRecord(
  { model, texts }: World,
  value: JsonObject,
  more: Pick<ModelRecord, 'kind' | 'id'> & Partial<ModelRecord>,
): ModelRecord {
  const issued = instant(value, 'issued_at')
  const from = Object.hasOwn(value, 'valid_from') ? instant(value, 'valid_from') : issued
  const record: ModelRecord = {
    attestedId: more.id,
    issued,
    from: issued > from ? issued : from,
    until: instant(value, 'expires_at'),
    party: '',
    keys: [],
    roles: [],
    issuedBy: text(value, 'issued_by'),
    ...more,
  }
  texts.set(record.id, value)
  // The authority does not store attestations of partners.
  if (record.kind === 'partner') model.records.set(record.id, record)
  return record
}

async function nodeOf({ authority }: World, number: number): Promise<(url: string) => NodeCaller> {
  const signer = await testSigner('node', `past node ${number}`)
  return (url) => nodeCaller(url, signer, () => authority.clock.now())
}

function planCertificate(world: World, nodeAt: (url: string) => NodeCaller): readonly Action[] {
  const { authority, model, random } = world
  const hours = 1 + random.below(24)
  const held: ModelRecord[] = []
  const node = (): NodeCaller => nodeAt(authority.na.url)
  const pick = (): ModelRecord | undefined => held[random.below(held.length)]
  const join = async (): Promise<void> => {
    const invite = accepted(await authority.operate('POST', '/admin/invite', { max_validity_hours: hours }), 201)
    const answer = await node().join(text(invite, 'token_id'), { validity_hours: hours })
    const value = accepted(answer, 201)
    held.push(noteRecord(world, value, { kind: 'certificate', id: text(value, 'cert_id'), party: node().key }))
    model.issue(held.at(-1) as ModelRecord)
  }
  const renew = async (): Promise<void> => {
    const before = pick()
    if (before === undefined) return
    const answer = await node().renew(before.id, { validity_hours: hours })
    // Revoked, replaced or expired.
    if (answer.status === 403) return
    const value = accepted(answer, 201)
    const next = noteRecord(world, value, { kind: 'certificate', id: text(value, 'cert_id'), party: before.party })
    model.renew(before.id, next, authority.clock.now())
    held.push(next)
  }
  const revoke = async (): Promise<void> => {
    const target = pick()
    // Lost in a restore.
    if (target === undefined || !model.isStored(target.id)) return
    const reason = random.pick(REASONS)
    accepted(await authority.operate('POST', '/admin/revoke', { cert_id: target.id, reason, all_of_key: false }))
    const at = authority.clock.now()
    if (reason === 'key_compromise') model.compromise(target.id, at)
    else model.revoke(target.id, at)
  }
  const start = begin(world)
  const later = (): number => start + random.below(hours * 3600 + 3600)
  return [
    { at: start, run: join },
    ...(random.chance(50) ? [{ at: later(), run: renew }] : []),
    ...(random.chance(25) ? [{ at: later(), run: renew }] : []),
    ...(random.chance(45) ? [{ at: later(), run: revoke }] : []),
    ...(random.chance(15) ? [{ at: later(), run: revoke }] : []),
  ]
}

function planAttestation(world: World, number: number): readonly Action[] {
  const { authority, model, random } = world
  const hours = 1 + random.below(72)
  let id = ''
  const issue = async (): Promise<void> => {
    const body = { subject_id: `member-${number}`, roles: [random.pick(ROLES)], validity_hours: hours }
    const value = accepted(await authority.operate('POST', '/admin/attestations', body), 201)
    id = text(value, 'attestation_id')
    model.issue(noteRecord(world, value, { kind: 'attestation', id }))
  }
  const revoke = async (): Promise<void> => {
    if (!model.isStored(id)) return
    accepted(await authority.operate('POST', `/admin/attestations/${id}/revoke`, { reason: 'left' }))
    model.revoke(id, authority.clock.now())
  }
  const start = begin(world)
  const end = { at: start + random.below(hours * 3600 + 600), run: revoke }
  return [{ at: start, run: issue }, ...(random.chance(55) ? [end] : [])]
}

interface TreatyPlan {
  readonly partner: ForeignSovereign
  readonly next: ForeignSovereign
  issue(): Promise<void>
  renew(): Promise<void>
  revoke(): Promise<void>
}

/** Treaties with one partner; a renewal may pin the next key of the partner. */
function treatiesOf(world: World, number: number, hours: number): TreatyPlan {
  const { authority, model, random } = world
  const name = `PARTNER-${number}`
  const [partner, next] = [foreignSovereign(name, `${name} first`), foreignSovereign(name, `${name} next`)]
  const roles: readonly string[] = ROLES.filter(() => random.chance(70))
  const held: string[] = []
  const note = (value: JsonObject): void => {
    const id = text(value, 'treaty_id')
    const keys = value['subject_public_keys'] as unknown as readonly string[]
    const scope = value['scope'] as JsonObject
    const allowed = scope['allowed_roles'] as unknown as readonly string[]
    model.issue(noteRecord(world, value, { kind: 'treaty', id, party: name, keys, roles: allowed }))
    held.push(id)
  }
  return {
    partner,
    next,
    async issue() {
      const body = {
        subject_sovereign_id: name,
        subject_public_keys: [partner.publicKey],
        scope: { allowed_roles: roles },
        validity_hours: hours,
      }
      note(accepted(await authority.operate('POST', '/admin/recognition-treaties', body), 201))
    },
    async renew() {
      const id = held.at(-1)
      if (id === undefined || !model.isStored(id)) return
      const keys = random.chance(60) ? { subject_public_keys: [next.publicKey] } : {}
      const answer = await authority.operate('POST', `/admin/recognition-treaties/${id}/renew`, {
        validity_hours: hours,
        ...keys,
      })
      if (answer.status === 409) return
      const { treaty } = accepted(answer, 201)
      model.revoke(id, authority.clock.now())
      if (isJsonObject(treaty)) note(treaty)
    },
    async revoke() {
      const id = held[random.below(held.length)]
      if (id === undefined || !model.isStored(id)) return
      accepted(await authority.operate('POST', `/admin/recognition-treaties/${id}/revoke`, { reason: 'over' }))
      model.revoke(id, authority.clock.now())
    },
  }
}

function planTreaty(world: World, number: number): readonly Action[] {
  const { random } = world
  const hours = 1 + random.below(72)
  const treaties = treatiesOf(world, number, hours)
  const start = begin(world)
  const later = (): number => start + random.below(hours * 3600 + 600)
  return [
    { at: start, run: () => treaties.issue() },
    ...(random.chance(40) ? [{ at: later(), run: () => treaties.renew() }] : []),
    ...(random.chance(45) ? [{ at: later(), run: () => treaties.revoke() }] : []),
  ]
}

function planPartner(world: World, number: number): readonly Action[] {
  const { authority, model, random } = world
  const hours = 6 + random.below(66)
  const treaties = treatiesOf(world, number, hours)
  const { partner, next } = treaties
  const name = partner.sovereign_id
  const key = `member-of-${number}`
  let id = key
  let sequence = 0
  const attest = async (): Promise<void> => {
    const others = [...model.records.values()].filter(({ kind }) => kind === 'attestation' || kind === 'treaty')
    // The id of a record of another issuer or kind.
    if (random.chance(20)) id = others[random.below(Math.max(1, others.length))]?.id ?? key
    const signer = random.chance(8) ? foreignSovereign(name, `${name} other`) : random.chance(70) ? partner : next
    const start = authority.clock.now()
    const roles: readonly string[] = ROLES.filter(() => random.chance(40))
    const times = {
      issued_at: writeInstant(start),
      valid_from: writeInstant(start + BigInt(random.below(3600)) * 1_000_000n),
    }
    const expires_at = writeInstant(start + BigInt(3601 + random.below(hours * 3600)) * 1_000_000n)
    const changes: ForeignObject = { attestation_id: id, roles, ...times, expires_at }
    const value = readJson(wireText(foreignAttestation(signer, start, changes))) as JsonObject
    noteRecord(world, value, { kind: 'partner', id: key, attestedId: id, party: name, keys: [signer.publicKey], roles })
  }
  const revoke = async (): Promise<void> => {
    sequence += 1
    const ids = random.chance(85) ? [id] : [`other-than-${id}`]
    const issued_at = writeInstant(authority.clock.now() - BigInt(random.below(7200)) * 1_000_000n)
    const feed = readJson(wireText(foreignFeed(partner, sequence, ids, { issued_at }))) as JsonObject
    const body = { feed, issuer_public_keys: [partner.publicKey] }
    accepted(await authority.operate('POST', '/admin/sovereign-revocation-feeds/import', body))
    model.import(name, ids, authority.clock.now())
  }
  const publish = async (): Promise<void> => {
    const { policyIds } = world
    policyIds.add(id)
    for (const each of policyIds) if (each !== id && random.chance(20)) policyIds.delete(each)
    const recognition_policy = { local_sovereign_id: 'PAST-NET', revoked_attestation_ids: [...policyIds] }
    accepted(await authority.operate('POST', '/admin/recognition-policy', { recognition_policy }))
    model.name([...policyIds], authority.clock.now())
  }
  const start = begin(world)
  const later = (): number => start + random.below(hours * 3600 + 600)
  return [
    ...(random.chance(50) ? [{ at: later(), run: publish }] : []),
    // Later policies leave out ids of earlier ones, which stay ended.
    ...(random.chance(25) ? [{ at: later(), run: publish }] : []),
    { at: random.chance(70) ? start : later(), run: attest },
    ...(random.chance(90) ? [{ at: random.chance(70) ? start : later(), run: () => treaties.issue() }] : []),
    ...(random.chance(35) ? [{ at: later(), run: () => treaties.renew() }] : []),
    ...(random.chance(40) ? [{ at: later(), run: revoke }] : []),
    ...(random.chance(25) ? [{ at: later(), run: () => treaties.revoke() }] : []),
  ]
}
