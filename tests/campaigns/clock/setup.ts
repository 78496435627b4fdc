import { DAY, type Instant, isJsonObject, type JsonObject, readInstant } from '@chancery/protocol'
import { type Clock, createLog, systemClock } from '@chancery/service-kit'
import { enroll, ManualClock, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { Backend, NodeCaller, TestAuthority, TestDatabase, TestResponse } from '@chancery/testkit'
import { jobsOf } from '../../../apps/authority/src/features.ts'
import { coreJobs } from '../../../apps/authority/src/startup/core-jobs.ts'
import type { OwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'
import type { Move, Pattern } from './patterns.ts'

/** An authority that compares its clock with that of its PostgreSQL; one for the whole campaign. */
export interface CheckedAuthority {
  readonly na: TestAuthority
  readonly clock: SkewedClock
  /** Returns the logged events. */
  readonly lines: readonly string[]
}

/** The real clock with an offset, because only that can be compared with the clock of a real database. */
class SkewedClock implements Clock {
  skew: Instant = 0n
  now(): Instant {
    return systemClock.now() + this.skew
  }
  monotonicMs(): number {
    return systemClock.monotonicMs()
  }
}

/** Setup of one pattern. All authorities share one clock. */
export interface ClockSetup {
  /** Has test data of every kind. It does not check its key window, so that it can sign at any time. */
  readonly na: TestAuthority
  /** Only the jobs of this authority publish. It checks its key window and has low rate limits. */
  readonly quiet: TestAuthority
  readonly watched: CheckedAuthority
  readonly random: Random
  /** Returns the events that `na` logged. */
  readonly lines: readonly string[]
  /** Time of the clock when the test data was created. */
  readonly made: Instant
  /** Time of the clock when the checks run, so that test data can expire exactly then. */
  readonly target: Instant
  readonly now: Instant
  /** Highest time that the steady clock showed, `made` included. */
  readonly highest: Instant
  /** True time since the test data was created. */
  readonly passed: Instant
  /** Offset of the wall clock from the true time. It was 0 when the test data was created. */
  readonly skew: Instant
  /** Returns a node that joined long before, so that it has no other certificate in the test period. */
  oldNode(): Promise<{ readonly node: NodeCaller; readonly cert_id: string }>
  /** Returns a node that has not joined. */
  newNode(): Promise<NodeCaller>
}

/** Created so long before that certificates of old nodes are valid during every pattern. */
const FOUNDED_BEFORE = 60n * DAY
const OLD_NODES = 5
export const QUIET_READS_PER_MINUTE = 3

interface OpenSetupOptions extends ClockSetup {
  readonly moves: readonly Move[]
  /** Moves the clock, then runs the jobs of both authorities once. */
  move(move: Move): Promise<void>
  close(): Promise<void>
}

// oxlint-disable-next-line max-lines-per-function -- one set-up, in the order of its steps
export async function openSetup(
  pattern: Pattern,
  backend: Backend,
  random: Random,
  server: OwnServer,
  watched: CheckedAuthority,
): Promise<OpenSetupOptions> {
  const made = readInstant(pattern.start) ?? 0n
  const moves = pattern.moves(random)
  const clock = new ManualClock(made - FOUNDED_BEFORE)
  const [lines, log] = openLog()
  const evidence = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0', NA_CLOCK_CHECK: 'off' }
  const databases = await Promise.all([openDatabase(backend, server), openDatabase(otherOf(backend), server)])
  const na = await startTestAuthority({
    clock,
    log,
    ...databases[0],
    settings: { ...evidence, NA_GENESIS_WINDOW: 'warn' },
  })
  const nodes = await Promise.all(Array.from({ length: OLD_NODES }, () => makeNode(na, clock)))
  const old: { node: NodeCaller; cert_id: string }[] = []
  for (const node of nodes) {
    const invite = { max_validity_hours: 8760 }
    old.push({ node, cert_id: (await enroll(na, node, invite, { validity_hours: 8760 })).cert_id })
  }
  passTime(clock, FOUNDED_BEFORE)
  const quiet = await startTestAuthority({
    clock,
    ...databases[1],
    settings: {
      ...evidence,
      RATE_LIMIT_STORE: 'memory',
      NA_RATE_LIMIT_READ_PER_MINUTE: String(QUIET_READS_PER_MINUTE),
    },
  })
  let [highest, passed] = [made, 0n]
  return {
    na,
    quiet,
    watched,
    random,
    lines,
    made,
    moves,
    target: moves.reduce((at, { passes, steps }) => at + passes + steps, made),
    get now() {
      return clock.now()
    },
    get highest() {
      return highest
    },
    get passed() {
      return passed
    },
    get skew() {
      return clock.now() - made - passed
    },
    async oldNode() {
      const next = old.shift()
      if (next === undefined) throw new Error('no old node is left')
      return next
    },
    newNode: () => makeNode(na, clock),
    async move({ passes, steps }) {
      passTime(clock, passes)
      clock.set(clock.now() + steps)
      passed += passes
      if (clock.now() > highest) highest = clock.now()
      for (const authority of [na, quiet]) await runJobs(authority)
    },
    async close() {
      await na.stop()
      await quiet.stop()
      for (const { database } of databases) await database?.drop()
    },
  }
}

export async function openWatched(server: OwnServer): Promise<CheckedAuthority> {
  const clock = new SkewedClock()
  const [lines, log] = openLog()
  const database = await server.createDatabase()
  return { na: await startTestAuthority({ clock, log, database, settings: { NA_CLOCK_CHECK: 'on' } }), clock, lines }
}

/** One engine each, so that both engines get every pattern and both kinds of test data. */
async function openDatabase(
  backend: Backend,
  server: OwnServer,
): Promise<{ readonly backend: Backend; readonly database?: TestDatabase }> {
  return backend === 'postgres' ? { backend, database: await server.createDatabase() } : { backend }
}

function otherOf(backend: Backend): Backend {
  return backend === 'postgres' ? 'sqlite' : 'postgres'
}

async function runJobs({ core, features, settings }: TestAuthority): Promise<void> {
  const { signal } = new AbortController()
  for (const job of [...coreJobs(core, settings), ...jobsOf(features, core)]) await job.run(signal)
}

function openLog(): [string[], ReturnType<typeof createLog>] {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return [lines, createLog({ level: 'info', format: 'json', destination })]
}

/** Moves the wall clock and the monotonic clock together. */
function passTime(clock: ManualClock, passes: Instant): void {
  clock.advance(Number(passes) / 1_000_000)
}

let nodesMade = 0
async function makeNode(na: TestAuthority, clock: ManualClock): Promise<NodeCaller> {
  nodesMade += 1
  const name = `clock-${nodesMade}`
  // The signature of an agent is labelled with its key.
  const signer = await testSigner((await testSigner('node', name)).publicKey, name)
  return nodeCaller(na.url, signer, () => clock.now())
}

/** Returns `200`, or `403 certificate_expired`. */
export function loggedEvents(answer: TestResponse): string {
  const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
  return isJsonObject(error) ? `${answer.status} ${text(error, 'code')}` : String(answer.status)
}

/** Returns a member that must be a text. Null is allowed only with `absent`, which replaces it. */
export function text(record: JsonObject, name: string, absent?: string): string {
  const value = record[name] ?? absent
  if (typeof value !== 'string') throw new TypeError(`${name} is not a text`)
  return value
}

/** Compares what a rule expects, computed from the rule and the clock alone, with what the authority did. */
export type Compare = (what: string, expected: Outcome, got: Outcome) => void
type Outcome = string | number | boolean

/** One rule of the protocol that depends on time. */
export interface Check {
  readonly name: string
  /** Creates the test data at the time `stage.made`. */
  prepare(setup: ClockSetup, compare: Compare): Promise<RunningCheck>
}

/** The test data of one check during one pattern. */
export interface RunningCheck {
  /** Called whenever the clock is steady; the last time directly before the verification. */
  atRest?(): Promise<void>
  verify?(): Promise<void>
}

/**
 * The tolerance for signed timestamps (protocol/core 21). Not imported, so that the check is independent of the
 * product.
 */
export const TOLERANCE: Instant = 300_000_000n

export function isWithinTolerance(timestamp: Instant, now: Instant): boolean {
  return now - timestamp <= TOLERANCE && timestamp - now <= TOLERANCE
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b
}

export function earlier(a: Instant, b: Instant): Instant {
  return a < b ? a : b
}

/** Exactly at a bound, one microsecond from it, or farther away. */
export function near(bound: Instant, random: Random): Instant {
  return bound + random.pick([0n, 1n, -1n, 1_000_000n, -1_000_000n, 1_800_000_000n, -1_800_000_000n])
}
