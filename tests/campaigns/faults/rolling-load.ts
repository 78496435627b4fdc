import { type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { nodeCaller, operatorCaller, send } from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestNetwork } from '@chancery/testkit'
import { newSigner } from '../lib/seed.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { text } from '../lib/rows.ts'

const WORKERS = 6
const FIRST_MEMBERS = 4
const CAPABILITY = 'secret.rotate'
/** Requests that every release serves. */
const DOCUMENTS = ['/crl', '/policy', '/genesis', '/sovereign.json', '/sovereign-revocation-feed'] as const

interface Member {
  readonly cert_id: string
  readonly node: NodeCaller
}

/** Typical load: reads documents, sends heartbeats, joins, requests decisions and verifies them. */
export class RollingLoad {
  /** Each request with another response than without a restart. */
  readonly failures: string[] = []
  readonly served = new Map<string, number>()
  slowestMs = 0
  readonly #url: string
  readonly #operate: ReturnType<typeof operatorCaller>
  readonly #random: Random
  readonly #members: Member[] = []
  readonly #publicKey: string
  #attestation = ''
  #decision: JsonValue = null
  #isWorking = false
  #work: Promise<unknown> = Promise.resolve()

  constructor(url: string, network: TestNetwork, seed: number) {
    const { operators, authority } = network
    this.#url = url
    this.#publicKey = authority.publicKey
    this.#operate = operatorCaller(url, operators.privileged, authority.publicKey, () => systemClock.now())
    this.#random = seededRandom(seed)
  }

  /** Runs before the first restart. Throws if the instances do not serve without faults. */
  async open(): Promise<void> {
    const member = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: [CAPABILITY] } }
    const { json } = await this.#operate('POST', '/admin/attestations', { ...member, validity_hours: 24 })
    this.#attestation = text(asObject(json), 'attestation_id')
    await this.#evaluate()
    for (let count = 0; count < FIRST_MEMBERS; count += 1) await this.#join()
    if (this.failures.length > 0) throw new Error(`at rest: ${this.failures.join('; ')}`)
  }

  start(): void {
    this.#isWorking = true
    this.#work = Promise.all(Array.from({ length: WORKERS }, () => this.#toil()))
  }

  /** Resolves when every running request has ended. */
  async stop(): Promise<void> {
    this.#isWorking = false
    await this.#work
  }

  get total(): number {
    return [...this.served.values()].reduce((sum, count) => sum + count, 0)
  }

  async #toil(): Promise<void> {
    while (this.#isWorking) await this.#step()
  }

  #step(): Promise<unknown> {
    const dice = this.#random.below(100)
    if (dice < 35) return this.#read()
    if (dice < 60) return this.#heartbeat()
    if (dice < 70) return this.#join()
    if (dice < 85) return this.#evaluate()
    return this.#verify()
  }

  /** Uses keep-alive connections. */
  #read(): Promise<unknown> {
    const path = this.#random.pick(DOCUMENTS)
    return this.#note('read', 200, async () => {
      const answer = await fetch(`${this.#url}${path}`)
      return { status: answer.status, text: await answer.text(), json: undefined }
    })
  }

  async #heartbeat(): Promise<void> {
    const member = this.#members[this.#random.below(this.#members.length)]
    if (member !== undefined) await this.#note('heartbeat', 200, () => member.node.heartbeat(member.cert_id))
  }

  async #join(): Promise<void> {
    const invite = await this.#note('invite', 201, () => this.#operate('POST', '/admin/invite', {}))
    if (invite === undefined) return
    const node = nodeCaller(this.#url, await newSigner(this.#random), () => systemClock.now())
    const certificate = await this.#note('join', 201, () => node.join(text(invite, 'token_id')))
    if (certificate !== undefined) this.#members.push({ cert_id: text(certificate, 'cert_id'), node })
  }

  async #evaluate(): Promise<void> {
    const asked = { attestation_id: this.#attestation, requested_capability: CAPABILITY }
    const answer = await this.#note('evaluate', 201, () => this.#operate('POST', '/admin/boundary/evaluate', asked))
    if (answer !== undefined) this.#decision = answer['decision'] ?? null
  }

  async #verify(): Promise<void> {
    const body = { decision: this.#decision, operator_public_keys: [this.#publicKey] }
    await this.#note('verify', 200, () => send(this.#url, 'POST', '/boundary/verify', { body }))
  }

  async #note(
    kind: string,
    expected: number,
    ask: () => Promise<Pick<TestResponse, 'status' | 'text' | 'json'>>,
  ): Promise<JsonObject | undefined> {
    const started = performance.now()
    const answer = await ask().catch((error: unknown) => ({ status: 0, text: String(error), json: undefined }))
    this.slowestMs = Math.max(this.slowestMs, performance.now() - started)
    if (answer.status !== expected) {
      this.failures.push(`${kind}: answered ${answer.status} ${answer.text.slice(0, 200)}`)
      return undefined
    }
    this.served.set(kind, (this.served.get(kind) ?? 0) + 1)
    return asObject(answer.json)
  }
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
