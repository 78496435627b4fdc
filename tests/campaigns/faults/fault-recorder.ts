import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Instant, isJsonObject, type JsonObject, type Signer, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type AuthorityProcess, type NodeCaller, nodeCaller, type TestResponse } from '@chancery/testkit'
import { RaceNotes } from '../lib/race-runner.ts'
import type { Random } from '../lib/random.ts'
import { Acks, newSigner, text } from '../lib/rows.ts'
import type { CheckedInstances } from './fault-instances.ts'

const WORKERS = 6
const CAPABILITY = 'secret.rotate'
const KEPT_CALLS = 40
/**
 * Another worker may have revoked the certificate or reported the key as compromised. A busy list asks the caller to
 * retry.
 */
const REFUSALS = ['certificate_revoked', 'node_key_compromised', 'certificate_superseded', 'crl_publish_contention']

interface Member {
  readonly cert_id: string
  readonly signer: Signer
}

/** An accepted call. Its nonce is spent permanently on every instance. */
interface SpentCall {
  readonly nonce: string
  readonly timestamp: string
}

/**
 * Calls all instances and stores, outside of them, every acknowledged and every refused change. A call without a
 * response, or with an unknown outcome, is not recorded.
 */
export class FaultRecorder {
  readonly acks = new Acks()
  readonly policies = new Set<string>()
  /** Answered 503 without `outcome: unknown`: nothing happened. */
  readonly refusedPolicies = new Set<string>()
  readonly attestations = new Set<string>()
  readonly withdrawn = new Set<string>()
  readonly decisions = new Set<string>()
  readonly spent: SpentCall[] = []
  readonly notes = new RaceNotes()
  unavailable = 0
  /** Response to the last refused request. */
  lastRefusal = ''
  unknown = 0
  /** What the last call without a certain answer got. */
  lastUnknown = ''
  acked = 0
  readonly #instances: CheckedInstances
  readonly #random: Random
  readonly #members: Member[] = []
  readonly #active: string[] = []
  #basis = ''
  #isWorking = false
  #work: Promise<unknown> = Promise.resolve()

  constructor(instances: CheckedInstances, random: Random) {
    this.#instances = instances
    this.#random = random
  }

  now(): Instant {
    return systemClock.now() + BigInt(this.#instances.clockOffsetMs) * 1000n
  }

  /** Creates the member of the decisions, before any fault. */
  async open(): Promise<void> {
    const claims = { capabilities: [CAPABILITY] }
    const body = { subject_id: 'vendor-1', roles: ['role:client'], claims, validity_hours: 24 }
    const answer = await this.#operate(this.#pick(), 'POST', '/admin/attestations', body)
    this.#basis = text(isJsonObject(answer.json) ? answer.json : undefined, 'attestation_id')
    if (answer.status !== 201) this.notes.violation(`the first attestation was answered ${answer.status}`)
  }

  start(): void {
    this.#isWorking = true
    this.#work = Promise.all(Array.from({ length: WORKERS }, () => this.#toil()))
  }

  /** Resolves when every running call has ended. */
  async stop(): Promise<void> {
    this.#isWorking = false
    await this.#work
  }

  async #toil(): Promise<void> {
    while (this.#isWorking) {
      // No response: the connection broke with its instance. The outcome is unknown.
      const before = this.acked
      await this.#step().catch((error: unknown) => {
        this.unknown += 1
        this.lastUnknown = String(error)
      })
      // Refused or cut off. A client waits before it retries.
      if (this.acked === before) await pause(20)
    }
  }

  #pick(): AuthorityProcess {
    const { processes } = this.#instances
    const process = processes[this.#random.below(processes.length)]
    if (process === undefined) throw new Error('no instance is started')
    return process
  }

  #operate(process: AuthorityProcess, method: string, target: string, body?: JsonObject): Promise<TestResponse> {
    return process.as('privileged')(method, target, body, { timestamp: writeInstant(this.now()) })
  }

  /**
   * Returns the body of a success; undefined for outcomes that are allowed during a fault. Notes every other response.
   */
  #take(answer: TestResponse, status: number): JsonObject | undefined {
    const body = isJsonObject(answer.json) ? answer.json : {}
    if (answer.status === status) {
      this.acked += 1
      return body
    }
    const error = isJsonObject(body['error']) ? body['error'] : {}
    if (answer.status === 503) {
      if (isUnknown(answer)) {
        this.unknown += 1
        this.lastUnknown = answer.text.slice(0, 300)
      } else {
        this.unavailable += 1
        this.lastRefusal = answer.text.slice(0, 300)
      }
    } else if (!REFUSALS.includes(text(error, 'code')))
      this.notes.violation(`answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return undefined
  }

  async #step(): Promise<void> {
    const dice = this.#random.below(100)
    const member = this.#members[this.#random.below(Math.max(this.#members.length, 1))]
    if (member === undefined || dice < 20) return this.#join()
    if (dice < 35) return this.#revoke(member)
    if (dice < 45) return this.#renew(member)
    if (dice < 58) return this.#publish()
    if (dice < 68) return this.#attest()
    if (dice < 76) return this.#withdraw()
    if (dice < 90) return this.#decide()
    if (dice < 96) return this.#spend()
    return this.#readList()
  }

  node(signer: Signer, at: AuthorityProcess = this.#pick()): NodeCaller {
    return nodeCaller(at.url, signer, () => this.now())
  }

  async #join(): Promise<void> {
    const invite = this.#take(await this.#operate(this.#pick(), 'POST', '/admin/invite', {}), 201)
    if (invite === undefined) return
    const token = text(invite, 'token_id')
    this.acks.invites.add(token)
    const signer = await newSigner(this.#random)
    const answer = await this.node(signer).join(token)
    const certificate = this.#take(answer, 201)
    if (certificate !== undefined) this.#storeCertificate(certificate, answer, signer)
  }

  async #renew({ cert_id, signer }: Member): Promise<void> {
    const answer = await this.node(signer).renew(cert_id)
    const certificate = this.#take(answer, 201)
    if (certificate !== undefined) this.#storeCertificate(certificate, answer, signer)
  }

  #storeCertificate(certificate: JsonObject, answer: TestResponse, signer: Signer): void {
    const cert_id = text(certificate, 'cert_id')
    this.acks.certificates.set(cert_id, answer.text)
    this.#members.push({ cert_id, signer })
  }

  async #revoke({ cert_id }: Member): Promise<void> {
    const body = { cert_id, only_this: true }
    const answer = this.#take(await this.#operate(this.#pick(), 'POST', '/admin/revoke', body), 200)
    if (answer === undefined) return
    this.acks.revoked(cert_id, 'unspecified')
    this.acks.lastSequence = Math.max(this.acks.lastSequence, Number(answer['crl_sequence']))
  }

  async #publish(): Promise<void> {
    const policy_id = `p-${randomUUID()}`
    const answer = await this.#operate(this.#pick(), 'POST', '/admin/policy', { policy_id })
    if (this.#take(answer, 201) !== undefined) this.policies.add(policy_id)
    else if (answer.status === 503 && !isUnknown(answer)) this.refusedPolicies.add(policy_id)
  }

  async #attest(): Promise<void> {
    const body = { subject_id: 'member', roles: ['role:client'] }
    const record = this.#take(await this.#operate(this.#pick(), 'POST', '/admin/attestations', body), 201)
    if (record === undefined) return
    this.attestations.add(text(record, 'attestation_id'))
    this.#active.push(text(record, 'attestation_id'))
  }

  async #withdraw(): Promise<void> {
    const id = this.#active.pop()
    if (id === undefined) return
    const target = `/admin/attestations/${id}/revoke`
    if (this.#take(await this.#operate(this.#pick(), 'POST', target, { reason: 'left' }), 200) !== undefined)
      this.withdrawn.add(id)
  }

  decideAt(process: AuthorityProcess): Promise<TestResponse> {
    const asked = { attestation_id: this.#basis, requested_capability: CAPABILITY }
    return this.#operate(process, 'POST', '/admin/boundary/evaluate', asked)
  }

  async #decide(): Promise<void> {
    const answer = this.#take(await this.decideAt(this.#pick()), 201)
    const decision = answer?.['decision']
    if (isJsonObject(decision)) this.decisions.add(text(decision, 'decision_id'))
  }

  async #spend(): Promise<void> {
    const call = { nonce: `spent-${randomUUID()}`, timestamp: writeInstant(this.now()) }
    const answer = await this.#pick().as('standard')('GET', '/admin/policy/history', undefined, call)
    if (this.#take(answer, 200) === undefined) return
    this.spent.push(call)
    if (this.spent.length > KEPT_CALLS) this.spent.shift()
  }

  async #readList(): Promise<void> {
    const answer = await this.#pick().request('GET', '/crl')
    const list = this.#take(answer, 200)
    if (list === undefined) return
    this.notes.list(answer)
    this.acks.lastSequence = Math.max(this.acks.lastSequence, Number(list['sequence']))
  }
}

function isUnknown(answer: TestResponse): boolean {
  return answer.text.includes('"outcome":"unknown"')
}
