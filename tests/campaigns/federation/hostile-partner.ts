import type { JsonObject, JsonValue } from '@chancery/protocol'
import { type ForeignObject, accepted, foreignAttestation } from '@chancery/testkit'
import { StubPartner } from '../../../apps/authority/src/features/partners/stub-partner.suite.ts'
import type { Random } from '../lib/random.ts'
import { type Hostile, MATERIALS, type Shown, pickHostile, slow } from './hostile-answers.ts'
import type { Call } from './partner-hostile.ts'

const FEED = '/sovereign-revocation-feed'
const CLAIMS = { capabilities: ['ledger.read'] }

interface HostileParts {
  readonly name: string
  readonly call: Call
  readonly now: () => bigint
  readonly trap: string
}

/** Facts of the authority that must not get worse. */
interface Facts {
  readonly genesis: JsonValue
  readonly keys: JsonValue
  readonly feed: number
  readonly imported: number
  readonly crl: number
}

/** A partner with a treaty, one member that stays and members that were revoked; then it turns malicious. */
export class HostilePartner {
  readonly found: string[] = []
  readonly outcomes = new Map<string, number>()
  readonly #parts: HostileParts
  readonly #random: Random
  readonly #stub: StubPartner
  readonly #member: ForeignObject
  readonly #left: ForeignObject
  #sequence = 3
  #revoked: string[] = []
  #facts: Facts | undefined
  #isCleared = false

  private constructor(parts: HostileParts, random: Random, stub: StubPartner) {
    this.#parts = parts
    this.#random = random
    this.#stub = stub
    this.#member = foreignAttestation(stub.key, parts.now(), { claims: CLAIMS })
    this.#left = foreignAttestation(stub.key, parts.now(), { claims: CLAIMS })
    this.#revoked.push(this.#left['attestation_id'] as string)
  }

  static async open(parts: HostileParts, random: Random): Promise<HostilePartner> {
    const stub = await new StubPartner(parts.name, parts.now).listen()
    const partner = new HostilePartner(parts, random, stub)
    const scope = { allowed_roles: ['role:client'], claims: CLAIMS }
    const treaty = { subject_sovereign_id: parts.name, subject_public_keys: [stub.key.publicKey], scope }
    accepted(await parts.call('POST', '/admin/recognition-treaties', treaty), 201)
    partner.#showCorrect()
    const body = { url: stub.url, root_public_key: stub.root.publicKey, allow_http: true, import_feeds: 'on' }
    accepted(await parts.call('POST', '/admin/partners', { ...body, interval_seconds: 86_400 }), 201)
    const { outcome } = await partner.#pull()
    if (outcome !== 'ok') throw new Error(`the first pull ends with ${JSON.stringify(outcome)}`)
    partner.#facts = await partner.#readFacts()
    return partner
  }

  /**
   * One malicious answer among correct ones, one pull, and then everything is compared with before. Returns the number of
   * malicious answers: none in the round after an alarm was cleared, since the content read then is the stored one.
   */
  async attack(isSlow: boolean): Promise<number> {
    const { now, trap } = this.#parts
    this.#showCorrect()
    if (this.#isCleared) {
      this.#isCleared = false
      await this.#pull()
      this.#facts = await this.#readFacts()
      return 0
    }
    const shown: Shown = {
      sequence: this.#sequence,
      revoked: this.#revoked,
      victim: this.#member['attestation_id'] as string,
      trap,
      now: now(),
    }
    const hostile: Hostile = isSlow
      ? { name: 'slow', path: this.#random.pick(MATERIALS), answer: slow }
      : pickHostile(this.#stub, shown, this.#random)
    this.#stub.show(hostile.path, hostile.answer)
    const { outcome } = await this.#pull()
    this.#count(outcome)
    this.#revoked.push(...(hostile.adds ?? []))
    await this.#compare(hostile, outcome)
    if (hostile.isAuthentic === true) {
      await this.#clearAlarms()
      this.#isCleared = true
    }
    return 1
  }

  /** The partner is correct again: the next pull is good and brings a new revocation. */
  async recover(): Promise<void> {
    await this.#clearAlarms()
    this.#sequence += 1
    this.#revoked.push(this.#member['attestation_id'] as string)
    this.#showCorrect()
    const { outcome } = await this.#pull()
    if (outcome !== 'ok') this.found.push(`${this.#parts.name} does not recover: ${JSON.stringify(outcome)}`)
    const denial = await this.#decide(this.#member)
    if (denial !== 'attestation_revoked') this.found.push(`${this.#parts.name}: the last revocation is not known`)
  }

  close(): Promise<void> {
    return this.#stub.stop()
  }

  #showCorrect(): void {
    const stub = this.#stub
    stub.show('/genesis', stub.genesis())
    stub.answers.delete('/key-history')
    stub.show('/sovereign.json', {
      sovereign_id: stub.name,
      root_public_key: stub.root.publicKey,
      network_authority: { public_key: stub.key.publicKey },
    })
    stub.show(FEED, stub.feed(this.#sequence, this.#revoked))
    stub.show('/crl', stub.crl(this.#sequence, []))
    stub.show('/recognition-treaties', { count: 0, recognition_treaties: [] })
  }

  async #pull(): Promise<JsonObject> {
    return accepted(await this.#parts.call('POST', `/admin/partners/${this.#parts.name}/pull`))
  }

  async #clearAlarms(): Promise<void> {
    const { call, name } = this.#parts
    const { alarms } = accepted(await call('GET', `/admin/partners/${name}`))
    for (const { alarm_id, cleared_at = null } of alarms as JsonObject[])
      if (cleared_at === null)
        accepted(
          await call('POST', `/admin/partners/${name}/clear-alarm`, { alarm_id: alarm_id ?? '', reason: 'seen' }),
        )
  }

  /** Keys, genesis and sequences stay; the member is still accepted and the one that left is still refused. */
  async #compare(hostile: Hostile, outcome: JsonValue | undefined): Promise<void> {
    const [before, after] = [this.#facts, await this.#readFacts()]
    this.#facts = after
    const tell = (what: string): void => {
      this.found.push(`${this.#parts.name}, ${hostile.name} at ${hostile.path}, ${JSON.stringify(outcome)}: ${what}`)
    }
    for (const name of ['genesis', 'keys'] as const)
      if (JSON.stringify(before?.[name]) !== JSON.stringify(after[name])) tell(`${name} changed`)
    for (const name of ['feed', 'imported', 'crl'] as const)
      if (after[name] !== this.#sequence) tell(`${name} has the sequence ${after[name]} in place of ${this.#sequence}`)
    const [stays, left] = [await this.#decide(this.#member), await this.#decide(this.#left)]
    if (stays !== null) tell(`the member is denied: ${JSON.stringify(stays)}`)
    if (left !== 'attestation_revoked') tell(`the revoked member gets ${JSON.stringify(left)}`)
  }

  async #decide(attestation: ForeignObject): Promise<JsonValue> {
    const presented = { attestation, issuer_sovereign_id: this.#parts.name }
    const body = { presented, requested_capability: 'ledger.read' }
    const { decision } = accepted(await this.#parts.call('POST', '/admin/boundary/evaluate', body), 201)
    return (decision as JsonObject)['denial_reason'] ?? null
  }

  async #readFacts(): Promise<Facts> {
    const partner = accepted(await this.#parts.call('GET', `/admin/partners/${this.#parts.name}`))
    const feed = (partner['feed'] ?? {}) as JsonObject
    return {
      genesis: partner['genesis'] ?? null,
      keys: partner['authority_keys'] ?? null,
      feed: Number(feed['sequence']),
      imported: Number(feed['imported_sequence']),
      crl: Number((partner['crl'] as JsonObject | null)?.['sequence']),
    }
  }

  #count(outcome: JsonValue | undefined): void {
    const name = typeof outcome === 'string' ? outcome : 'none'
    this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1)
  }
}
