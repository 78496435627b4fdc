import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject, type JsonObject, type JsonValue } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, nodeCaller, operatorCaller, send } from '@chancery/testkit'
import type { NodeCaller, TestNetwork, TestResponse } from '@chancery/testkit'
import { type BalancedInstances, startBalancedInstances } from '../../instances/balanced-instances.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { LAST_RELEASE, makeNextRelease, unpackCommit } from '../lib/release-trees.ts'
import { newSigner, text } from '../lib/rows.ts'

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
class RollingLoad {
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
    const invite = await this.#note('invite create', 201, () => this.#operate('POST', '/admin/invite', {}))
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

/** The smallest number that can be restarted without an interruption. */
const INSTANCES = 2
const SHOWN = 20
/** Load without a restart before and after, so that each kind of request is sent to each release. */
const CALM_MS = 1000

interface Rolled {
  readonly instances: BalancedInstances
  readonly load: RollingLoad
  readonly violation: (sentence: string) => void
  /** SIGTERM and start of one instance, with the release of `tree` if given. */
  readonly replace: (index: number, tree?: string) => Promise<void>
}

/** Rounds in which each instance of this release is restarted once. */
export function restartInstances(options: CampaignOptions): Promise<CampaignResult> {
  return underLoad(options, undefined, async ({ replace }) => {
    for (let round = 0; round < options.count; round += 1)
      for (let index = 0; index < INSTANCES; index += 1) await replace(index)
  })
}

/** From the last release to this one. Where the changelog lets its instances go on serving, only restarts are needed. */
export async function upgradeFromLastRelease(options: CampaignOptions): Promise<CampaignResult> {
  const release = await unpackCommit(LAST_RELEASE)
  try {
    return await replaceEach(options, release.folder, OWN_RELEASE)
  } finally {
    await release.remove()
  }
}

/** From this release to one with one more migration: only restarts are needed. */
export async function upgradeToNextRelease(options: CampaignOptions): Promise<CampaignResult> {
  const next = await makeNextRelease()
  try {
    return await replaceEach(options, undefined, next.folder)
  } finally {
    await next.remove()
  }
}

function replaceEach(options: CampaignOptions, from: string | undefined, to: string): Promise<CampaignResult> {
  return underLoad(options, from, async ({ instances, replace, violation }) => {
    await replace(0, to)
    const { status, warnings } = await readinessOf(instances, 1)
    if (status !== 200 || !warnings.includes('newer_schema'))
      violation(`on the newer schema the older release says ${status} with ${warnings.join(', ') || 'no warning'}`)
    await pause(CALM_MS)
    await replace(1, to)
  })
}

/** This release, which is not unpacked: these sources. */
const OWN_RELEASE = new URL('../../..', import.meta.url).pathname

async function readinessOf({ instanceUrls }: BalancedInstances, index: number) {
  const { status, json } = await send(instanceUrls[index] ?? '', 'GET', '/readyz')
  const warnings = isJsonObject(json) ? json['warnings'] : undefined
  return { status, warnings: Array.isArray(warnings) ? warnings.map(String) : [] }
}

/** Two instances of a release behind the documented balancer under load, with one case for each restart. */
async function underLoad(
  { seed, log }: CampaignOptions,
  firstTree: string | undefined,
  roll: (rolled: Rolled) => Promise<void>,
): Promise<CampaignResult> {
  let [cases, violations] = [0, 0]
  const violation = (sentence: string): void => {
    violations += 1
    if (violations <= SHOWN) log(`violation: ${sentence}`)
  }
  const network = await createTestNetwork('ROLLING-NET')
  const server = await startOwnServer()
  const database = await server.createDatabase()
  const settings = { ...network.settings, LOG_LEVEL: 'error', ...database.settings }
  const instances = await startBalancedInstances(settings, INSTANCES, firstTree)
  try {
    const load = new RollingLoad(instances.url, network, seed)
    await load.open()
    load.start()
    await pause(CALM_MS)
    const replace = async (index: number, tree?: string): Promise<void> => {
      cases += 1
      const code = await instances.restart(index, tree)
      if (code !== 0) violation(`na${index + 1} ended with ${code}`)
    }
    try {
      await roll({ instances, load, violation, replace })
      await pause(CALM_MS)
    } finally {
      await load.stop()
    }
    for (const failure of load.failures) violation(failure)
    const kinds = [...load.served].map(([kind, count]) => `${count} ${kind}`).join(', ')
    log(`${load.total} requests served (${kinds}), slowest ${Math.round(load.slowestMs)} ms`)
  } finally {
    if ((await instances.stop()) !== 0) violation('an instance did not end with 0')
    await server.remove()
    await network.remove()
  }
  return { cases, violations }
}
