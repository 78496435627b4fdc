import { DAY, draftAgentDescriptor, type JsonObject, readJson, signList, writeInstant } from '@chancery/protocol'
import {
  accepted,
  createMigratedDatabase,
  foreignFeed,
  foreignSovereign,
  ManualClock,
  nodeCaller,
  signExecution,
  startTestAuthority,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { Backend, NodeCaller, TestAuthority, TestDatabase, TestResponse } from '@chancery/testkit'
import { storePosition } from '../../../apps/authority/src/audit/forward.ts'
import { EXPORT_NAME } from '../../../apps/authority/src/audit/sequence.ts'
import type { TableName } from '../../../apps/authority/src/database/sizes/table-ends.ts'
import { jobsOf } from '../../../apps/authority/src/features.ts'
import { coreJobs } from '../../../apps/authority/src/startup/core-jobs.ts'
import { decisionOf, EvidenceScenario } from '../evidence/scenario.ts'
import { inTurns } from '../lib/campaign.ts'
import type { Random } from '../lib/random.ts'
import { text } from '../lib/rows.ts'

/** Days that the authority of this campaign stores its rows. */
export const KEPT = { certificates: 60, invites: 30, rejections: 90, audit: 366, evidence: 90 }
const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_EVIDENCE_REJECTIONS: 'table',
  NA_GENESIS_WINDOW: 'warn',
  NA_CERTIFICATE_KEPT_DAYS: String(KEPT.certificates),
  NA_AUDIT_KEPT_DAYS: String(KEPT.audit),
}
const VALIDITY_HOURS = 168
/** Nodes renew in the last 24 hours. */
const RENEWED_AFTER_DAYS = 6
/** Calls after a first one that was answered with 503. */
const RETAIN_MORE = 4
const DAY_SECONDS = 86_400
/** What happens each day besides renewals. */
const DAILY = { leaving: 2, invites: 3, heartbeats: 40, agents: 10, decisions: 5, rejections: 3 }

interface Member {
  readonly node: NodeCaller
  cert_id: string
  issuedDay: number
}

/** One authority with its nodes, whose clock the campaign moves. All jobs are those of the authority. */
export class GrowingNetwork {
  readonly clock: ManualClock
  /** Rows that were added on a day. */
  readonly #added = new Map<TableName, Map<number, number>>()
  readonly #partner = foreignSovereign('GROWTH-PARTNER')
  readonly #random: Random
  readonly #database: TestDatabase
  readonly na: TestAuthority
  readonly #members: Member[] = []
  #day = 0
  #joined = 0
  #stolen = 0
  #attestation = ''
  #imported = 0
  readonly #seen = new Map<TableName, number>()

  private constructor(na: TestAuthority, clock: ManualClock, database: TestDatabase, random: Random) {
    this.na = na
    this.#database = database
    this.#random = random
    this.clock = clock
  }

  static async open(backend: Backend, random: Random): Promise<GrowingNetwork> {
    const database = await createMigratedDatabase(backend)
    const clock = new ManualClock('2030-01-01T00:00:00Z')
    const na = await startTestAuthority({ clock, database, settings: SETTINGS })
    const network = new GrowingNetwork(na, clock, database, random)
    const treaty = {
      subject_sovereign_id: network.#partner.sovereign_id,
      subject_public_keys: [network.#partner.publicKey],
      validity_hours: 24,
    }
    accepted(await network.#operate('POST', '/admin/recognition-treaties', treaty), 201)
    return network
  }

  get day(): number {
    return this.#day
  }

  /** Certificates of stolen keys stay. */
  get stolen(): number {
    return this.#stolen
  }

  async close(): Promise<void> {
    await this.na.stop()
    await this.#database.drop()
  }

  /** Rows that were added to a table in the last days. */
  addedWithin(table: TableName, days: number): number {
    const entries = [...(this.#added.get(table) ?? [])]
    return entries.filter(([day]) => day > this.#day - days).reduce((sum, [, rows]) => sum + rows, 0)
  }

  #add(table: TableName, rows: number): void {
    const days = this.#added.get(table) ?? new Map<number, number>()
    days.set(this.#day, (days.get(this.#day) ?? 0) + rows)
    this.#added.set(table, days)
  }

  #operate(method: string, target: string, body?: JsonObject): Promise<TestResponse> {
    this.#add('nonces', 1)
    return this.na.as('privileged')(method, target, body)
  }

  /** One day of the network with `nodes` nodes, and four runs of all jobs. */
  async live(nodes: number): Promise<void> {
    await this.#leave()
    await inTurns(nodes - this.#members.length, () => this.#join())
    const due = this.#members.filter((member) => this.#day - member.issuedDay >= RENEWED_AFTER_DAYS)
    await inTurns(due.length, (at) => this.#renew(due[at] as Member))
    await this.#beat()
    await this.#decide()
    await this.#share()
    if (this.#day % 30 === 29) await this.retain()
    for (let quarter = 0; quarter < 4; quarter += 1) await this.pass(DAY_SECONDS / 4)
    this.#day += 1
  }

  /** Nothing but the jobs, once in every `days` days. */
  async rest(days: number): Promise<void> {
    await this.pass(days * DAY_SECONDS)
    this.#day += days
  }

  /** Time passes, then every job runs once. */
  async pass(seconds: number): Promise<void> {
    this.clock.advance(seconds)
    const { core, features, settings } = this.na
    const { signal } = new AbortController()
    for (const job of [...coreJobs(core, settings), ...jobsOf(features, core)]) await job.run(signal)
    await this.#noteSequences()
    await this.#export()
  }

  /** Tables whose rows have sequences: what was added is read from them. */
  async #noteSequences(): Promise<void> {
    const { read } = this.na.core.database
    const list = await read
      .selectFrom('crl_versions')
      .select((eb) => eb.fn.max('sequence').as('last'))
      .executeTakeFirst()
    const head = await read.selectFrom('evidence_head').select('last_sequence as last').executeTakeFirst()
    const event = await read
      .selectFrom('audit_numbers')
      .select((eb) => eb.fn.max('sequence').as('last'))
      .executeTakeFirst()
    const found = [
      ['crl_versions', list?.last],
      ['evidence_entries', head?.last],
      ['audit_events', event?.last],
    ] as const
    for (const [table, last] of found) {
      const before = this.#seen.get(table) ?? 0
      const now = last ?? 0
      if (now > before) this.#add(table, now - before)
      this.#seen.set(table, Math.max(now, before))
    }
  }

  /** A named export stores all events elsewhere, so that they may be removed. */
  async #export(): Promise<void> {
    const { database, clock } = this.na.core
    const last = await database.read
      .selectFrom('audit_numbers')
      .select(['sequence', 'event_id'])
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (last !== undefined) await storePosition({ database, name: `${EXPORT_NAME}archive`, clock }, last)
  }

  async #invite(): Promise<string> {
    const made = accepted(await this.#operate('POST', '/admin/invite', { max_validity_hours: VALIDITY_HOURS }), 201)
    this.#add('invite_tokens', 1)
    return text(made, 'token_id')
  }

  async #join(): Promise<void> {
    this.#joined += 1
    const name = `growth ${this.#joined}`
    // Descriptors name their signer by its public key.
    const signer = await testSigner((await testSigner('node', name)).publicKey, name)
    const node = nodeCaller(this.na.url, signer, () => this.clock.now())
    const token = await this.#invite()
    this.#add('nonces', 1)
    const value = accepted(await node.join(token, { validity_hours: VALIDITY_HOURS }), 201)
    this.#add('issued_certs', 1)
    this.#members.push({ node, cert_id: text(value, 'cert_id'), issuedDay: this.#day })
  }

  async #renew(member: Member): Promise<void> {
    this.#add('nonces', 1)
    const value = accepted(await member.node.renew(member.cert_id, { validity_hours: VALIDITY_HOURS }), 201)
    this.#add('issued_certs', 1)
    member.cert_id = text(value, 'cert_id')
    member.issuedDay = this.#day
  }

  /** Some nodes leave. One in ten lost its key. */
  async #leave(): Promise<void> {
    for (let left = 0; left < DAILY.leaving && this.#members.length > 0; left += 1) {
      const [member] = this.#members.splice(this.#random.below(this.#members.length), 1)
      const isStolen = this.#random.chance(10)
      const reason = isStolen ? 'key_compromise' : 'cessation_of_operation'
      if (isStolen) this.#stolen += 1
      accepted(await this.#operate('POST', '/admin/revoke', { cert_id: member?.cert_id ?? '', reason }))
    }
  }

  async #beat(): Promise<void> {
    for (let unused = 0; unused < DAILY.invites; unused += 1) await this.#invite()
    await inTurns(Math.min(DAILY.heartbeats, this.#members.length), async () => {
      const { node, cert_id } = this.#members[this.#random.below(this.#members.length)] as Member
      this.#add('nonces', 1)
      accepted(await node.heartbeat(cert_id))
    })
    await inTurns(Math.min(DAILY.agents, this.#members.length), async (at) => {
      const { node } = this.#members[at] as Member
      const now = this.clock.now()
      const draft = draftAgentDescriptor({
        agent_id: `agent-${at}`,
        node_public_key: node.key,
        network_name: this.na.genesis.network_name,
        capabilities: ['growth', `growth:${at}`],
        endpoint: { host: '198.51.100.7', port: 7448 },
        registered_at: writeInstant(now),
        expires_at: writeInstant(now + DAY / 2n),
      })
      accepted(await this.na.request('POST', '/agents', { body: await signList(draft, node.signer) }))
      this.#add('agent_registrations', 1)
    })
  }

  /** Decisions with their executions, and submissions of a key that is not registered. */
  async #decide(): Promise<void> {
    const scenario = await EvidenceScenario.open({
      request: (method, target, options) => this.na.request(method, target, options),
      operator: (method, target, body) => this.#operate(method, target, body),
    })
    const unknown = await testSigner('unknown executor')
    for (let at = 0; at < DAILY.decisions; at += 1) {
      const decision = decisionOf(await scenario.decide())
      accepted(await scenario.execute(decision), 201)
      if (at >= DAILY.rejections) continue
      const evidence = (await signExecution(decision, unknown)) as unknown as JsonObject
      const { status } = await this.na.request('POST', '/evidence/execution', { body: { evidence } })
      if (status < 400) throw new Error('evidence of an unknown executor was accepted')
      this.#add('evidence_rejections', 1)
    }
  }

  /** An attestation of the day before is revoked, which signs a feed, and a partner's feed is imported. */
  async #share(): Promise<void> {
    const body = { subject_id: `member-${this.#day}`, roles: ['role:client'], validity_hours: 48 }
    const value = accepted(await this.#operate('POST', '/admin/attestations', body), 201)
    if (this.#attestation !== '')
      accepted(await this.#operate('POST', `/admin/attestations/${this.#attestation}/revoke`, { reason: 'left' }))
    this.#attestation = text(value, 'attestation_id')
    this.#imported += 1
    const issued_at = writeInstant(this.clock.now())
    const feed = foreignFeed(this.#partner, this.#imported, [`partner-${this.#imported}`], { issued_at })
    const imported = { feed: readJson(wireText(feed)) as JsonObject, issuer_public_keys: [this.#partner.publicKey] }
    accepted(await this.#operate('POST', '/admin/sovereign-revocation-feeds/import', imported))
    this.#add('sovereign_revocation_feeds', 1)
  }

  /** What an operator runs from cron, again when a busy machine reached the deadline of a request. */
  async retain(): Promise<void> {
    const apply = (): Promise<TestResponse> =>
      this.#operate('POST', '/admin/evidence/retention/apply', { older_than_days: KEPT.evidence })
    let answer = await apply()
    for (let more = 0; more < RETAIN_MORE && answer.status === 503; more += 1) answer = await apply()
    accepted(answer)
  }
}
