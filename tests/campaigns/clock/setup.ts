import { DAY, isJsonObject, readInstant } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { createLog, systemClock } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import { ManualClock, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { Backend, NodeCaller, TestResponse, TestAuthority, TestDatabase } from '@chancery/testkit'
import { jobsOf } from '../../../apps/authority/src/features.ts'
import { coreJobs } from '../../../apps/authority/src/startup/core-jobs.ts'
import type { Move, Pattern } from './patterns.ts'
import type { OwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'

/** An authority whose clock is compared with that of its PostgreSQL; one for the whole campaign. */
export interface CheckedAuthority {
  readonly na: TestAuthority
  readonly clock: SkewedClock
  /** What it logged so far. */
  readonly lines: readonly string[]
}

/** The real clock with its wall moved: only that can be compared with the clock of a real database. */
export class SkewedClock implements Clock {
  skew: Instant = 0n
  now(): Instant {
    return systemClock.now() + this.skew
  }
  monotonicMs(): number {
    return systemClock.monotonicMs()
  }
}

/** Where one pattern is played: everything it moves has one clock. */
export interface Stage {
  /** With facts of every kind; its key window is not looked at, so that it signs at any time. */
  readonly na: TestAuthority
  /** Nobody publishes here but its own jobs; it looks at the window of its key, and counts calls closely. */
  readonly quiet: TestAuthority
  readonly watched: CheckedAuthority
  readonly random: Random
  /** What `na` logged so far. */
  readonly lines: readonly string[]
  /** What the clock showed when the facts were made. */
  readonly made: Instant
  /** What it will show when they are judged: facts may be made to end right there. */
  readonly target: Instant
  readonly now: Instant
  /** The highest it ever showed at rest, `made` included. */
  readonly highest: Instant
  /** True time since the facts were made. */
  readonly passed: Instant
  /** How far the wall clock is from the true time, in which it was right when the facts were made. */
  readonly skew: Instant
  /** A node that was admitted long before, so that no certificate of its stands in the way. */
  oldNode(): Promise<{ readonly node: NodeCaller; readonly cert_id: string }>
  /** A node nobody has admitted yet. */
  newNode(): Promise<NodeCaller>
}

/** Founded so long before: certificates of old nodes are good for all that a pattern does. */
const FOUNDED_BEFORE = 60n * DAY
const OLD_NODES = 5
export const QUIET_READS_PER_MINUTE = 3

export interface OpenClockSetup extends Stage {
  readonly moves: readonly Move[]
  /** Moves the clock, then lets the jobs of both authorities run once, as they do in a running authority. */
  move(move: Move): Promise<void>
  close(): Promise<void>
}

export async function openSetup(
  pattern: Pattern,
  backend: Backend,
  random: Random,
  server: OwnServer,
  watched: CheckedAuthority,
): Promise<OpenClockSetup> {
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

/** Of one engine each, so that both see every pattern and both kinds of facts. */
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

/** Wall clock and monotonic clock together. */
function passTime(clock: ManualClock, passes: Instant): void {
  clock.advance(Number(passes) / 1_000_000)
}

let nodesMade = 0
async function makeNode(na: TestAuthority, clock: ManualClock): Promise<NodeCaller> {
  nodesMade += 1
  const name = `clock-${nodesMade}`
  // An agent's signature is labelled with its key.
  const signer = await testSigner((await testSigner('node', name)).publicKey, name)
  return nodeCaller(na.url, signer, () => clock.now())
}

/** `200`, or `403 certificate_expired`. */
export function loggedEvents(answer: TestResponse): string {
  const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
  return isJsonObject(error) ? `${answer.status} ${text(error, 'code')}` : String(answer.status)
}

/** A member that must be a text; null only where `absent` says what it stands for. */
export function text(record: JsonObject, name: string, absent?: string): string {
  const value = record[name] ?? absent
  if (typeof value !== 'string') throw new TypeError(`${name} is not a text`)
  return value
}
