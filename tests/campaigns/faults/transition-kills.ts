import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands } from '@chancery/authority'
import { writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { withMoreOperators } from '../lib/instances.ts'
import { endingOf, killBoth, type KillTarget, type KillTargetParts } from '../lib/kill-target.ts'
import { type Rows, waitUntilIdle, withRows } from '../lib/rows.ts'
import * as trust from '../trust/transitions.ts'
import { toEnv } from './fault-instances.ts'
import { type PreparedRequest, type Signed, SPARE_OPERATORS, type Transition } from './transition.ts'
import * as own from './transition.ts'

/**
 * Every kind of change. Neighbours have different events, also in their preparation, because one start checks a change
 * and is killed during the next.
 */
const TRANSITIONS: readonly Transition[] = [
  own.inviteCreated,
  own.certificateRevoked,
  own.policyPublished,
  own.agentDeregistered,
  trust.membershipAttestationIssued,
  own.crlPublished,
  trust.recognitionTreatyIssued,
  trust.membershipAttestationRevoked,
  trust.recognitionPolicySaved,
  trust.recognitionTreatyRevoked,
  trust.boundaryPolicyPublished,
  trust.executorKeyRegistered,
  trust.boundaryPolicyActivated,
  trust.sovereignRevocationFeedImported,
  trust.boundaryPolicyDeactivated,
  own.policyRolledBack,
  trust.executorKeyRetired,
  trust.dataLicensePolicyCreated,
  own.operatorKeyRevoked,
  trust.capabilityOfferBuilt,
]

const ROUNDS_PER_DATABASE = SPARE_OPERATORS.length

/** kill -9 of an authority before and after the COMMIT of each kind of change: whole or not at all, and made once. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('KILL-NET')
  const settings = { EVIDENCE_STORE: 'on', ...(await withMoreOperators(network, SPARE_OPERATORS)) }
  try {
    return await killBoth(options, (parts) => new TransitionTarget({ ...parts, network, settings, seed: options.seed }))
  } finally {
    await network.remove()
  }
}

interface Parts extends KillTargetParts {
  readonly network: TestNetwork
  readonly settings: Readonly<Record<string, string>>
  readonly seed: number
}

/** A change during which a process was killed, and the counts before it. */
interface Interrupted {
  readonly name: string
  readonly change: PreparedRequest
  readonly event: string
  readonly signed: Signed
  readonly before: readonly number[]
  /** Killed after COMMIT. */
  readonly isDone: boolean
}

/** Every start checks the last change, and is killed during the next. */
class TransitionTarget implements KillTarget {
  readonly violations: string[] = []
  acks = 0
  readonly #parts: Parts
  #database: TestDatabase | undefined
  #folder: string | undefined
  #process: AuthorityProcess | undefined
  #last: Interrupted | undefined
  /** The change before the last. It was acknowledged, and must still be stored after later kills. */
  #acked: { readonly statements: readonly string[]; readonly numbers: readonly number[] } | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async kill(turn: number): Promise<void> {
    const { backend, seed } = this.#parts
    const round = Math.floor(turn / TRANSITIONS.length)
    if (turn % (TRANSITIONS.length * ROUNDS_PER_DATABASE) === 0) await this.finish()
    const database = (this.#database ??= await this.#createDatabase())
    const transition = TRANSITIONS[turn % TRANSITIONS.length]
    if (transition === undefined) return
    // The engines start with different points, so that a short run covers both points of every change.
    const isDone = (round + seed + (backend === 'sqlite' ? 0 : 1)) % 2 === 1
    const point = `${isDone ? 'committed' : 'audited'}:${transition.event}`
    const process = await this.#start(database, { CHANCERY_FAULT_POINT: point })
    await this.#settle(database, process)
    await this.#interrupt(database, process, transition, { isDone, round: round % ROUNDS_PER_DATABASE })
  }

  async finish(): Promise<void> {
    if (this.#database === undefined) return
    await this.#settle(this.#database, await this.#start(this.#database, {}))
    await this.close()
  }

  async close(): Promise<void> {
    await this.#process?.kill()
    await this.#database?.drop()
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true })
    this.#process = undefined
    this.#database = undefined
    this.#folder = undefined
    this.#last = undefined
    this.#acked = undefined
  }

  /** Has its first list and policy, so that no job creates them during a kill. */
  async #createDatabase(): Promise<TestDatabase> {
    const database = await this.#parts.createDatabase()
    this.#database = database
    this.#folder = await mkdtemp(join(tmpdir(), 'chancery-kills-'))
    const settings = { ...this.#parts.network.settings, ...this.#parts.settings, ...database.settings }
    await writeFile(join(this.#folder, 'authority.env'), toEnv(settings), { mode: 0o600 })
    const first = await this.#start(database, {})
    for (const path of ['/crl', '/policy']) await first.request('GET', path)
    await first.kill()
    return database
  }

  async #start(database: TestDatabase, fault: Readonly<Record<string, string>>): Promise<AuthorityProcess> {
    const settings = { ...this.#parts.settings, ...database.settings, ...fault }
    this.#process = await startAuthorityProcess({ network: this.#parts.network, settings })
    return this.#process
  }

  async #interrupt(
    database: TestDatabase,
    process: AuthorityProcess,
    transition: Transition,
    { isDone, round }: { readonly isDone: boolean; readonly round: number },
  ): Promise<void> {
    const { backend, network, random } = this.#parts
    const { event } = transition
    const name = `${backend} at ${isDone ? 'committed' : 'audited'}:${event}`
    const { change, before } = await withRows(database, async (rows) => {
      const prepared = await transition.prepare({ process, network, random, round, rows })
      return { change: prepared, before: await countAll(rows, countsOf(event, prepared)) }
    })
    const signed = { nonce: randomUUID(), timestamp: writeInstant(systemClock.now()) }
    const answer = await change.send(process, signed).catch(() => undefined)
    if (answer !== undefined) this.violations.push(`${name}: answered ${answer.status} ${answer.text.slice(0, 200)}`)
    const ending = await endingOf(process)
    if (ending !== 'SIGKILL') this.violations.push(`${name}: ended by ${ending}`)
    await waitUntilIdle(database)
    this.#last = { name, change, event, signed, before, isDone }
  }

  /**
   * Checks that the change is stored whole or not at all, that the captured request is refused, that a repeat makes the
   * change once, and that the database is valid.
   */
  async #settle(database: TestDatabase, process: AuthorityProcess): Promise<void> {
    const last = this.#last
    if (last === undefined) return
    await withRows(database, async (rows) => {
      await this.#compareAcked(rows, last)
      const { name, change, event, isDone } = last
      await this.#compare(rows, last, isDone ? 1 : 0, 'after the kill')
      if (change.hasNoNonce === undefined) await this.#replay(rows, process, last)
      const again = await change.send(process)
      const wanted = isDone ? change.again : change.status
      if (again.status !== wanted)
        this.violations.push(`${name}: repeated, answered ${again.status} ${again.text.slice(0, 200)}, not ${wanted}`)
      this.acks += 1
      await this.#compare(rows, last, isDone && change.repeats === true ? 2 : 1, 'repeated')
      const statements = countsOf(event, change)
      this.#acked = { statements, numbers: await countAll(rows, statements) }
      await this.#inspect(rows, name)
    })
    this.#last = undefined
  }

  /**
   * The nonce was spent before the change, so the request is refused as a replay. Another reason would not prove that.
   */
  async #replay(rows: Rows, process: AuthorityProcess, { name, change, signed }: Interrupted): Promise<void> {
    const { status } = await change.send(process, signed)
    const told = `select count(*) as n from audit_events where event_type = 'admin_auth_failed' and event_json like '%"nonce_replay"%' and event_json like '%${signed.nonce}%'`
    const [count] = await countAll(rows, [told])
    if (status !== 401 || count !== 1)
      this.violations.push(`${name}: the captured request was answered ${status}, ${count} replays audited`)
  }

  /** The kill during the next change must not remove the change before it. */
  async #compareAcked(rows: Rows, { name }: Interrupted): Promise<void> {
    if (this.#acked === undefined) return
    const { statements, numbers } = this.#acked
    const now = await countAll(rows, statements)
    if (now.some((value, index) => value < (numbers[index] ?? 0)))
      this.violations.push(`${name}: what was acknowledged before is gone: ${numbers.join()} became ${now.join()}`)
  }

  async #compare(rows: Rows, last: Interrupted, made: number, when: string): Promise<void> {
    const after = await countAll(rows, countsOf(last.event, last.change))
    const moved = after.map((value, index) => value - (last.before[index] ?? 0))
    if (moved.some((by) => by !== made))
      this.violations.push(`${last.name}: ${when} events and effects went up by ${moved.join(', ')}, not ${made}`)
  }

  async #inspect(rows: Rows, name: string): Promise<void> {
    const inspected = await commands.verifyDatabase({ flags: {}, envFile: join(this.#folder ?? '', 'authority.env') })
    const problems = inspected.ok ? [...inspected.problems] : [inspected.message]
    // The command also reads environment variables, so this checks that it used this database.
    const [events] = await countAll(rows, ['select count(*) as n from audit_events'])
    const seen = inspected.ok ? (inspected.counts['audit event'] ?? 0) : 0
    if (seen < (events ?? 0)) problems.push(`${seen} of ${events} audit events were read`)
    this.violations.push(...problems.map((problem) => `${name}: verify-db: ${problem}`))
  }
}

/** Counts of the event and of every effect: all must rise together. */
function countsOf(event: string, change: PreparedRequest): readonly string[] {
  return [`select count(*) as n from audit_events where event_type = '${event}'`, ...change.effects]
}

async function countAll(rows: Rows, statements: readonly string[]): Promise<number[]> {
  const numbers: number[] = []
  for (const statement of statements) numbers.push(Number((await rows.query(statement))[0]?.['n']))
  return numbers
}
