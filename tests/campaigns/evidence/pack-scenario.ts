// oxlint-disable max-lines -- one history with all of its events
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asReceived, executionEvidenceForm, instantOf, receivedDigest, writeInstant } from '@chancery/protocol'
import type { BoundaryDecision, GenesisBlock, JsonObject, KeyHistory, Signer } from '@chancery/protocol'
import { createAuthorityClient, type EvidencePack, type GivenRecords } from '@chancery/sdk/authority'
import { EvidencePackError, collectEvidencePack } from '@chancery/sdk/internal'
import {
  FIRST_KEY,
  ManualClock,
  accepted,
  createMigratedDatabase,
  operatorCaller,
  runTestStep,
  signExecution,
  signSuccession,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { Succeeded, TestAuthority, TestDatabase, TestResponse } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import {
  agreementRequest,
  decisionRequest,
  memberRequest,
  openPartners,
  partnerAttestation,
  policyIntent,
  treatyRequest,
} from './pack-requests.ts'

const SETTINGS = {
  NA_CLOCK_CHECK: 'off',
  EVIDENCE_STORE: 'on',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  NA_FOREIGN_FEED_MAX_AGE_SECONDS: '0',
}
const MAX_SUCCESSIONS = 2

/** A decision of the history, and the records that the authority does not store. */
interface Made {
  readonly decision: BoundaryDecision
  readonly given: GivenRecords
  executions: number
  lastDigest: string | null
  capability: string
}

/** A pack, the genesis blocks that its reader may have pinned, and the key history of the newest one. */
interface MadePack {
  readonly pack: EvidencePack
  readonly pins: readonly GenesisBlock[]
  readonly keyHistory?: KeyHistory | undefined
  readonly kind: string
}

/** One authority in this process with a random history: members, partners, policies, executions, retention, new keys. */
export class PackScenario {
  readonly #random: Random
  readonly #settings: Readonly<Record<string, string>>
  readonly #clock = new ManualClock('2030-01-02T03:00:00Z')
  readonly #database: TestDatabase
  readonly #folder: string
  readonly #network: string
  readonly #executors: readonly Signer[]
  readonly #partners: ReadonlyMap<string, Signer>
  readonly #members: string[] = []
  readonly #policies: string[] = []
  readonly #treaties: string[] = []
  readonly #made: Made[] = []
  readonly #packs: MadePack[] = []
  readonly #blocks: GenesisBlock[] = []
  /** What happened so far, by name. */
  readonly events = new Map<string, number>()
  #na: TestAuthority
  #state: Succeeded | undefined
  #successions = 0

  private constructor(parts: {
    readonly random: Random
    readonly settings: Readonly<Record<string, string>>
    readonly database: TestDatabase
    readonly folder: string
    readonly executors: readonly Signer[]
    readonly partners: ReadonlyMap<string, Signer>
  }) {
    this.#random = parts.random
    this.#settings = parts.settings
    this.#database = parts.database
    this.#folder = parts.folder
    this.#network = `NET-${parts.random.next()}`
    this.#executors = parts.executors
    this.#partners = parts.partners
    // Set by open, before anything else runs.
    this.#na = undefined as unknown as TestAuthority
  }

  /** `settings` of the authority, also after each succession. */
  static async open(random: Random, settings: Readonly<Record<string, string>> = {}): Promise<PackScenario> {
    const scenario = new PackScenario({
      random,
      settings,
      database: await createMigratedDatabase('sqlite'),
      folder: await mkdtemp(join(tmpdir(), 'chancery-packs-')),
      executors: [await testSigner('rotator-key'), await testSigner('shipper-key')],
      partners: await openPartners(),
    })
    await scenario.#start({})
    const { genesis } = scenario.#na
    scenario.#state = { genesis, key: FIRST_KEY }
    scenario.#blocks.push(genesis)
    // A key is announced with its first list.
    await scenario.#na.request('GET', '/crl')
    for (const { keyId, publicKey } of scenario.#executors)
      await scenario.#post('/admin/evidence/executor-keys', {
        key_id: keyId,
        public_key: publicKey,
        executor_sovereign_id: 'rotator',
      })
    await scenario.#addMember()
    await scenario.#addTreaty()
    return scenario
  }

  async close(): Promise<void> {
    await this.#na.stop()
    await this.#database.drop()
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Runs random events until there are so many packs, then gives them with the newest pins. */
  async make(count: number): Promise<readonly MadePack[]> {
    while (this.#packs.length < count) {
      await this.#decide()
      for (let more = this.#random.below(4); more > 0; more -= 1) await this.#event()
      if (this.#random.chance(60)) await this.#packOne()
    }
    const keyHistory = this.#state?.history
    return this.#packs.splice(0, count).map((made) => ({ ...made, pins: this.#blocks.slice(), keyHistory }))
  }

  async #start(settings: Readonly<Record<string, string>>): Promise<void> {
    const common = { clock: this.#clock, database: this.#database, network: this.#network, keys: '' }
    this.#na = await startTestAuthority({ ...common, settings: { ...SETTINGS, ...this.#settings, ...settings } })
  }

  /** As operator, for the current key of the authority. */
  #operate(method: string, path: string, body: JsonObject): Promise<TestResponse> {
    const genesis = this.#state?.genesis ?? this.#na.genesis
    const signer = this.#na.signers['privileged'] as Signer
    const call = operatorCaller(this.#na.url, signer, genesis.network_authority.public_key, () => this.#clock.now())
    return call(method, path, body)
  }

  async #post(path: string, body: JsonObject, status = 201): Promise<JsonObject> {
    return accepted(await this.#operate('POST', path, body), status)
  }

  #count(name: string): void {
    this.events.set(name, (this.events.get(name) ?? 0) + 1)
  }

  async #event(): Promise<void> {
    const events: readonly [string, number, () => Promise<void>][] = [
      ['execution', 30, () => this.#execute()],
      ['anchor', 15, () => this.#anchor()],
      ['member', 8, () => this.#addMember()],
      ['member revoked', 6, () => this.#revokeMember()],
      ['policy', 12, () => this.#publishPolicy()],
      ['policy off', 4, () => this.#endPolicy()],
      ['treaty', 6, () => this.#addTreaty()],
      ['treaty revoked', 4, () => this.#revokeTreaty()],
      ['hours', 8, async () => this.#clock.advance(3600 * (1 + this.#random.below(30)))],
      [
        'retention',
        4,
        async () => void (await this.#post('/admin/evidence/retention/apply', { older_than_days: 1 }, 200)),
      ],
      ['succession', 3, () => this.#succeed()],
    ]
    let left = this.#random.below(100)
    for (const [name, weight, run] of events) {
      left -= weight
      if (left >= 0) continue
      await run()
      this.#count(name)
      return
    }
  }

  /** An unchanged store is not anchored again. */
  async #anchor(): Promise<void> {
    const { status, text } = await this.#operate('POST', '/admin/evidence/anchors', {})
    if (status !== 201 && status !== 200) throw new Error(`no anchor: ${status} ${text}`)
  }

  async #addMember(): Promise<void> {
    const { attestation_id } = await this.#post('/admin/attestations', memberRequest(this.#random))
    this.#members.push(attestation_id as string)
  }

  async #revokeMember(): Promise<void> {
    const id = this.#members[this.#random.below(this.#members.length)] ?? ''
    await this.#operate('POST', `/admin/attestations/${id}/revoke`, { reason: 'test' })
  }

  async #publishPolicy(): Promise<void> {
    const intent = policyIntent(this.#random, this.#clock.now())
    const published = await this.#operate('POST', '/admin/boundary-policies', intent)
    // A loaded machine does not check Cedar in time.
    if (published.status === 503) return
    const { version } = accepted(published, 201)
    await this.#post(`/admin/boundary-policies/${intent.policy_id}/activate`, { version: version ?? null }, 200)
    this.#policies.push(intent.policy_id)
  }

  async #endPolicy(): Promise<void> {
    const id = this.#policies[this.#random.below(this.#policies.length)]
    if (id !== undefined) await this.#operate('POST', `/admin/boundary-policies/${id}/deactivate`, {})
  }

  async #addTreaty(): Promise<void> {
    const request = treatyRequest(this.#random, this.#partners)
    const { treaty_id } = await this.#post('/admin/recognition-treaties', request)
    this.#treaties.push(treaty_id as string)
  }

  async #revokeTreaty(): Promise<void> {
    const id = this.#treaties[this.#random.below(this.#treaties.length)] ?? ''
    await this.#operate('POST', `/admin/recognition-treaties/${id}/revoke`, { reason: 'test' })
  }

  async #decide(): Promise<void> {
    const asked = decisionRequest(this.#random)
    const capability = asked.requested_capability
    const kind = this.#random.below(10)
    const { body, given } = kind < 5 ? this.#onMember() : kind < 8 ? await this.#onPartner() : await this.#onAgreement()
    // Without policies: the decision names no digest of the request.
    const isPlain = 'agreement' in body && this.#random.chance(50)
    const path = `/admin/boundary/${isPlain ? 'decide' : 'evaluate'}`
    const answer = await this.#operate('POST', path, { ...asked, ...body })
    // An agreement with a partner whose treaty ended is refused.
    if (answer.status === 422) return
    const made = accepted(answer, 201)
    const decision = (isPlain ? made : made['decision']) as unknown as BoundaryDecision
    if (isPlain) this.#count('decided without policies')
    this.#count(
      `${kind < 5 ? 'member' : kind < 8 ? 'partner' : 'agreement'} ${decision.authorized ? 'allowed' : 'denied'}`,
    )
    this.#made.push({ decision, given, executions: 0, lastDigest: null, capability })
  }

  #onMember(): { body: JsonObject; given: GivenRecords } {
    const id = this.#members[this.#random.below(this.#members.length)] ?? ''
    return { body: { attestation_id: this.#random.chance(5) ? 'unknown' : id }, given: {} }
  }

  async #onPartner(): Promise<{ body: JsonObject; given: GivenRecords }> {
    const attestation = await partnerAttestation(this.#random, this.#partners, this.#clock.now())
    const issuer_sovereign_id = attestation['issuer_sovereign_id'] ?? null
    return {
      body: { presented: { attestation, issuer_sovereign_id } },
      // Sometimes the partner's record is not at hand.
      given: this.#random.chance(80) ? { attestation } : {},
    }
  }

  async #onAgreement(): Promise<{ body: JsonObject; given: GivenRecords }> {
    const request = agreementRequest(this.#random, this.#clock.now())
    const offered = await this.#operate('POST', '/admin/agreements/offer', request)
    // Without a treaty there is no agreement.
    if (offered.status !== 201) return this.#onMember()
    const offer = accepted(offered, 201)
    const taken = await this.#operate('POST', '/admin/agreements/accept', { offer })
    if (taken.status !== 201) return this.#onMember()
    const agreement = accepted(taken, 201)
    return { body: { agreement }, given: this.#random.chance(80) ? { agreement } : {} }
  }

  async #execute(): Promise<void> {
    const open = this.#made.filter(
      ({ decision }) => decision.authorized && instantOf(decision.decision_valid_until) > this.#clock.now(),
    )
    const made = open[this.#random.below(open.length)]
    if (made === undefined) return
    this.#clock.advance(1)
    const evidence = await signExecution(made.decision, this.#random.pick(this.#executors as [Signer, ...Signer[]]), {
      sequence_no: made.executions + 1,
      prev_evidence_digest: made.lastDigest,
      executed_at: writeInstant(this.#clock.now()),
      executed_capability: made.capability,
      outcome: this.#random.pick(['success', 'failure', 'partial']),
    })
    const answer = await this.#na.request('POST', '/evidence/execution', { body: { evidence } })
    // Retention may have removed the decision.
    if (answer.status !== 201) return
    made.executions += 1
    made.lastDigest = receivedDigest(asReceived(executionEvidenceForm, evidence))
  }

  async #succeed(): Promise<void> {
    if (this.#successions >= MAX_SUCCESSIONS) return
    this.#successions += 1
    // Lists of the previous key are served for twelve hours.
    this.#clock.advance(13 * 3600)
    const key = { keyId: `na-${this.#successions + 1}`, seed: `na-${this.#successions + 1}` }
    const next = await signSuccession(
      this.#folder,
      this.#state ?? { genesis: this.#na.genesis, key: FIRST_KEY },
      key,
      this.#clock.now(),
    )
    await runTestStep('announce', next, { database: this.#database, clock: this.#clock })
    await this.#na.stop()
    await runTestStep('switch', next, { database: this.#database, clock: this.#clock, isForced: true })
    this.#state = next
    this.#blocks.push(next.genesis)
    await this.#start(next.settings)
    this.#clock.advance(5)
  }

  async #packOne(): Promise<void> {
    const at = this.#random.below(this.#made.length)
    const made = this.#made[at]
    if (made === undefined) return
    // Sometimes the log is behind.
    if (this.#random.chance(90)) await this.#na.features.evidenceLog.append()
    const genesis = this.#state?.genesis ?? this.#na.genesis
    const signer = this.#na.signers['privileged'] as Signer
    const client = createAuthorityClient({
      url: this.#na.url,
      clock: () => this.#clock.now(),
      operator: { signer, audience: genesis.network_authority.public_key },
    })
    try {
      const pack = await collectEvidencePack(client, made.decision.decision_id, made.given)
      this.#packs.push({
        pack,
        pins: [],
        kind: made.decision.attestation_binding === undefined ? 'agreement' : 'attestation',
      })
    } catch (error) {
      if (!(error instanceof EvidencePackError)) throw error
      this.#count('removed by retention')
      this.#made.splice(at, 1)
    }
  }
}
