import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type ExecutionEvidence, isJsonObject } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { pinAttestation, type GovernedStep } from '@chancery/sdk/internal'
import {
  createTestDatabase,
  createTestNetwork,
  startAuthorityProcess,
  startFaultProxy,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import type { ActorTask } from './outbox-actor.ts'

export const summary =
  'kill -9 of a program at 8 points of a governed action, and of its authority; every action has one record'
/** 200 kills of the program and 50 of the authority. */
export const defaultCount = 250

const STEPS = [
  'decision-received',
  'decision-verified',
  'intent-stored',
  'action-done',
  'evidence-signed',
  'evidence-stored',
  'evidence-submitted',
  'evidence-removed',
] as const satisfies readonly GovernedStep[]

const SETTINGS = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
const CASE_SECONDS = 30

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const setup = await OutboxSetup.open()
  const random = seededRandom(options.seed)
  const violations: string[] = []
  try {
    for (let index = 0; index < options.count; index += 1) {
      const problem = index % 5 === 4 ? await setup.outage(random) : await setup.kill(stepOf(index), random)
      if (problem !== undefined) violations.push(`case ${index}: ${problem}`)
      if (index % 25 === 24) options.log(`${index + 1} cases, ${setup.effects().length} actions done`)
    }
    violations.push(...(await setup.inspect()))
    options.log(`${setup.effects().length} actions done, ${setup.kills} kills, ${setup.outages} outages`)
  } finally {
    await setup.close()
  }
  return conclude(options.log, options.count, violations)
}

function stepOf(index: number): GovernedStep {
  return STEPS[(index - Math.floor(index / 5)) % STEPS.length] ?? STEPS[0]
}

/** One authority with its database, one outbox, and the running program. */
class OutboxSetup {
  readonly #network: TestNetwork
  readonly #database: TestDatabase
  readonly #folder: string
  readonly #target = { host: '127.0.0.1', port: 0 }
  #authority: AuthorityProcess | undefined
  #proxy: Awaited<ReturnType<typeof startFaultProxy>> | undefined
  #task: Omit<ActorTask, 'dieAt' | 'after' | 'drain'> | undefined
  kills = 0
  outages = 0

  private constructor(network: TestNetwork, database: TestDatabase, folder: string) {
    this.#network = network
    this.#database = database
    this.#folder = folder
  }

  static async open(): Promise<OutboxSetup> {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-outbox-'))
    const setup = new OutboxSetup(await createTestNetwork('OUTBOX-NET'), await createTestDatabase('sqlite'), folder)
    await setup.#startAuthority()
    // One fixed address for all processes of the authority.
    setup.#proxy = await startFaultProxy(setup.#target)
    setup.#task = await setup.#prepare()
    return setup
  }

  /** The program exits at the step; the next one continues with its outbox. */
  async kill(step: GovernedStep, random: Random): Promise<string | undefined> {
    const actor = this.#start({ dieAt: step, after: random.below(4) })
    const isDead = await Promise.race([once(actor, 'exit').then(() => true), pause(CASE_SECONDS * 1000, false)])
    if (!isDead) await end(actor)
    this.kills += 1
    if (!isDead) return `the step ${step} was never met`
    return actor.signalCode === 'SIGKILL' ? undefined : `ended by ${actor.signalCode ?? actor.exitCode}`
  }

  /** The authority is killed during the work and restarted; then the program is killed at any point. */
  async outage(random: Random): Promise<string | undefined> {
    const before = this.effects().length
    const actor = this.#start({})
    const deadline = performance.now() + CASE_SECONDS * 1000
    while (this.effects().length === before && performance.now() < deadline && actor.exitCode === null) await pause(5)
    await pause(random.below(60))
    await this.#authority?.kill()
    await pause(random.below(200))
    await this.#startAuthority()
    await pause(random.below(300))
    const ending = actor.exitCode
    await end(actor)
    this.outages += 1
    return ending === null ? undefined : `the program ended by itself with ${ending}`
  }

  /** Effects of the actions, by decision. */
  effects(): readonly string[] {
    try {
      return readFileSync(join(this.#folder, 'effects'), 'utf8').split('\n').slice(0, -1)
    } catch {
      return []
    }
  }

  async inspect(): Promise<string[]> {
    const actor = this.#start({ drain: true })
    const output: Buffer[] = []
    actor.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
    const [code] = (await once(actor, 'exit')) as [number | null]
    const report = Buffer.concat(output).toString('utf8').trim()
    const violations = code === 0 && report === '{"deadLetters":0}' ? [] : [`the drain gave ${code}: ${report}`]
    return [...violations, ...(await this.#inspectStore())]
  }

  async close(): Promise<void> {
    await this.#authority?.stop()
    await this.#proxy?.close()
    await this.#database.drop()
    await this.#network.remove()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #inspectStore(): Promise<string[]> {
    const call = this.#authority?.as('privileged')
    if (call === undefined) return ['there is no authority']
    const { json } = await call('GET', '/admin/evidence/verify')
    const violations = isJsonObject(json) && json['verified'] === true ? [] : ['the store does not verify']
    const records = new Map<string, string[]>()
    for (let after: number | null = 0; after !== null;) {
      const answer = await call('GET', `/admin/evidence?entry_kind=execution&limit=1000&after_sequence=${after}`)
      const page = answer.json as unknown as {
        entries: { payload: ExecutionEvidence }[]
        next_after_sequence: number | null
      }
      for (const { payload } of page.entries) {
        const id = payload.decision_id
        records.set(id, [...(records.get(id) ?? []), payload.outcome])
      }
      after = page.next_after_sequence
    }
    const done = this.effects()
    if (new Set(done).size !== done.length) violations.push('an action was done twice on one decision')
    for (const id of done)
      if (records.get(id)?.length !== 1) violations.push(`${id} has ${records.get(id)?.length ?? 0} records`)
    // A record without an effect must state that the outcome is unknown.
    const known = new Set(done)
    for (const [id, outcomes] of records) {
      if (outcomes.length !== 1) violations.push(`${id} has ${outcomes.length} records`)
      if (!known.has(id) && outcomes[0] !== 'partial') violations.push(`${id} is ${outcomes[0]} and was never done`)
    }
    return violations
  }

  async #startAuthority(): Promise<void> {
    this.#authority = await startAuthorityProcess({
      network: this.#network,
      settings: { ...this.#database.settings, ...SETTINGS },
    })
    this.#target.port = Number(new URL(this.#authority.url).port)
  }

  async #prepare(): Promise<Omit<ActorTask, 'dieAt' | 'after' | 'drain'>> {
    const authorityKey = this.#network.authority.publicKey
    const url = `http://127.0.0.1:${this.#proxy?.port ?? 0}`
    const operator = { signer: this.#network.operators.privileged, audience: authorityKey }
    const client = createAuthorityClient({ url, operator })
    const claims = { capabilities: ['secret.rotate'] }
    const attestation = await client.attestations.issue({ subject_id: 'vendor-1', roles: ['role:client'], claims })
    const { publicKey } = await testSigner('rotator-key')
    await client.evidence.registerKey({
      key_id: 'rotator-key',
      public_key: publicKey,
      executor_sovereign_id: 'rotator',
    })
    return {
      url,
      authorityKey,
      operatorSeed: testSeed('op-privileged'),
      executorSeed: testSeed('rotator-key'),
      outbox: join(this.#folder, 'outbox'),
      effects: join(this.#folder, 'effects'),
      attestation,
      expectedAttestation: pinAttestation(attestation),
    }
  }

  #start(more: Pick<ActorTask, 'dieAt' | 'after' | 'drain'>): ChildProcess {
    return fork(fileURLToPath(new URL('outbox-actor.ts', import.meta.url)), [], {
      env: { ...process.env, ACTOR_TASK: JSON.stringify({ ...this.#task, ...more }) },
      execArgv: ['--conditions=development'],
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    })
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
