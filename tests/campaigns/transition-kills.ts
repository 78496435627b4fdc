import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { commands } from '@chancery/authority'
import { writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestDatabase, createTestNetwork, startAuthorityProcess, testSigner } from '@chancery/testkit'
import type { AuthorityProcess, Backend, TestDatabase, TestNetwork } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { startOwnServer } from './own-server.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { awaitSilence, openRows } from './rows.ts'
import type { Rows } from './rows.ts'
import { SPARE_OPERATORS } from './own-transitions.ts'
import type { Deed, Signed, Transition } from './transition.ts'
import { TRANSITIONS } from './transitions.ts'

export const summary =
  'kill -9 of an authority before and after the COMMIT of every kind of change: whole or not at all, and made once'
export const defaultCount = 80

const ROUNDS_PER_DATABASE = SPARE_OPERATORS.length
const DEAD_WITHIN_MS = 10_000

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('KILL-NET')
  const server = await startOwnServer()
  const random = seededRandom(options.seed)
  const settings = await withSpareOperators(network)
  const victims = [
    new Victim('sqlite', { network, settings, random, create: () => createTestDatabase('sqlite') }),
    new Victim('postgres', { network, settings, random, create: () => server.createDatabase() }),
  ]
  const found = (): string[] => victims.flatMap((victim) => victim.violations)
  try {
    // Side by side: most of a kill is the waiting of the next start.
    await Promise.all(
      victims.map(async (victim, engine) => {
        for (let kill = engine; kill < options.count; kill += victims.length) {
          // One engine begins before COMMIT, the other after it: both moments of every change soon had their turn.
          const turn = kill >> 1
          await victim.kill(turn, { isDone: (Math.floor(turn / TRANSITIONS.length) + engine) % 2 === 1 })
          if (kill % 20 === 19) options.log(`${kill + 1} kills, ${found().length} violations`)
        }
        await victim.finish()
      }),
    )
  } finally {
    for (const victim of victims) await victim.close()
    await server.remove()
    await network.remove()
  }
  for (const violation of found().slice(0, 20)) options.log(`violation: ${violation}`)
  return { cases: options.count, violations: found().length }
}

async function withSpareOperators(network: TestNetwork): Promise<Readonly<Record<string, string>>> {
  const keys = JSON.parse(network.settings['OPERATOR_PUBLIC_KEYS_JSON'] ?? '{}') as Record<string, string>
  const tiers = JSON.parse(network.settings['OPERATOR_KEY_TIERS_JSON'] ?? '{}') as Record<string, string>
  for (const name of SPARE_OPERATORS) {
    keys[name] = (await testSigner(name)).publicKey
    tiers[name] = 'standard'
  }
  return {
    EVIDENCE_STORE: 'on',
    OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify(keys),
    OPERATOR_KEY_TIERS_JSON: JSON.stringify(tiers),
  }
}

interface VictimParts {
  readonly network: TestNetwork
  readonly settings: Readonly<Record<string, string>>
  readonly random: Random
  readonly create: () => Promise<TestDatabase>
}

/** A change in the middle of which a process was killed. */
interface Interrupted {
  readonly name: string
  readonly event: string
  readonly deed: Deed
  readonly signed: Signed
  readonly before: readonly number[]
  readonly isDone: boolean
}

interface Stage {
  readonly database: TestDatabase
  readonly rows: Rows
  readonly folder: string
  readonly envFile: string
}

/** One engine. Every start shows what became of the last change, and is killed in the next. */
class Victim {
  readonly violations: string[] = []
  readonly #backend: Backend
  readonly #parts: VictimParts
  #stage: Stage | undefined
  #last: Interrupted | undefined
  #process: AuthorityProcess | undefined

  constructor(backend: Backend, parts: VictimParts) {
    this.#backend = backend
    this.#parts = parts
  }

  /** Killed when the change is written with its event, or when it is done and nobody was answered. */
  async kill(index: number, { isDone }: { readonly isDone: boolean }): Promise<void> {
    const round = Math.floor(index / TRANSITIONS.length)
    if (index % (TRANSITIONS.length * ROUNDS_PER_DATABASE) === 0) await this.finish()
    this.#stage ??= await this.#openStage()
    const transition = TRANSITIONS[index % TRANSITIONS.length]
    if (transition === undefined) return
    const point = `${isDone ? 'committed' : 'audited'}:${transition.event}`
    const process = await this.#start(this.#stage, { CHANCERY_FAULT_POINT: point })
    await this.#settle(this.#stage, process)
    await this.#interrupt(this.#stage, process, transition, { isDone, round: round % ROUNDS_PER_DATABASE })
  }

  /** What became of the last change on this database, and the end of it. */
  async finish(): Promise<void> {
    if (this.#stage === undefined) return
    await this.#settle(this.#stage, await this.#start(this.#stage, {}))
    await this.close()
  }

  async close(): Promise<void> {
    await this.#process?.kill()
    await this.#stage?.rows.close()
    await this.#stage?.database.drop()
    if (this.#stage !== undefined) await rm(this.#stage.folder, { recursive: true, force: true })
    this.#process = undefined
    this.#stage = undefined
    this.#last = undefined
  }

  async #openStage(): Promise<Stage> {
    const database = await this.#parts.create()
    const folder = await mkdtemp(join(tmpdir(), 'chancery-kills-'))
    const settings = { ...this.#parts.network.settings, ...this.#parts.settings, ...database.settings }
    const envFile = join(folder, 'authority.env')
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(envFile, lines.join(''), { mode: 0o600 })
    // Migrated, and with its first list and policy, before anything is killed.
    const first = await startAuthorityProcess({ network: this.#parts.network, settings })
    await first.kill()
    return { database, rows: await openRows(database), folder, envFile }
  }

  async #start({ database }: Stage, fault: Readonly<Record<string, string>>): Promise<AuthorityProcess> {
    const settings = { ...this.#parts.settings, ...database.settings, ...fault }
    this.#process = await startAuthorityProcess({ network: this.#parts.network, settings })
    return this.#process
  }

  async #interrupt(
    { rows }: Stage,
    process: AuthorityProcess,
    transition: Transition,
    { isDone, round }: { readonly isDone: boolean; readonly round: number },
  ): Promise<void> {
    const { event } = transition
    const name = `${this.#backend} at ${isDone ? 'committed' : 'audited'}:${event}`
    const deed = await transition.prepare({ process, network: this.#parts.network, random: this.#parts.random, round })
    const signed = { nonce: randomUUID(), timestamp: writeInstant(systemClock.now()) }
    const before = await this.#count(rows, event, deed)
    const answer = await deed.send(process, signed).catch(() => undefined)
    if (answer !== undefined) this.violations.push(`${name}: answered ${answer.status} ${answer.text.slice(0, 200)}`)
    const ending = await Promise.race([process.exited, pause(DEAD_WITHIN_MS, 'nothing', { ref: false })])
    if (ending !== 'SIGKILL') this.violations.push(`${name}: ended by ${ending}`)
    await process.kill()
    await awaitSilence(rows)
    this.#last = { name, event, deed, signed, before, isDone }
    await this.#compare(rows, isDone ? 1 : 0, 'after the kill')
  }

  /** The captured request is refused, the change is made once, and the whole database holds. */
  async #settle({ rows, envFile }: Stage, process: AuthorityProcess): Promise<void> {
    const last = this.#last
    if (last === undefined) return
    const { name, deed, signed, isDone } = last
    if (deed.hasNoNonce === undefined) {
      const replay = await deed.send(process, signed)
      if (replay.status !== 401) this.violations.push(`${name}: the captured request was answered ${replay.status}`)
    }
    const again = await deed.send(process)
    const wanted = isDone ? deed.again : deed.status
    if (again.status !== wanted)
      this.violations.push(`${name}: repeated, answered ${again.status} ${again.text.slice(0, 200)}, not ${wanted}`)
    await this.#compare(rows, isDone && deed.repeats === true ? 2 : 1, 'repeated')
    const inspected = await commands.verifyDatabase({ flags: {}, envFile })
    const problems = inspected.ok ? inspected.problems : [inspected.message]
    this.violations.push(...problems.map((problem) => `${name}: verify-db: ${problem}`))
    this.#last = undefined
  }

  async #compare(rows: Rows, made: number, when: string): Promise<void> {
    if (this.#last === undefined) return
    const { name, event, deed, before } = this.#last
    const after = await this.#count(rows, event, deed)
    const moved = after.map((value, index) => value - (before[index] ?? 0))
    if (moved.some((by) => by !== made))
      this.violations.push(`${name}: ${when} events and effects went up by ${moved.join(', ')}, not ${made}`)
  }

  async #count(rows: Rows, event: string, deed: Deed): Promise<readonly number[]> {
    const statements = [`select count(*) as n from audit_events where event_type = '${event}'`, ...deed.effects]
    const numbers: number[] = []
    for (const statement of statements) numbers.push(Number((await rows.query(statement))[0]?.['n']))
    return numbers
  }
}
