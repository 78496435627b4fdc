import { setTimeout as pause } from 'node:timers/promises'
import { commands } from '@chancery/authority'
import { type Instant, isJsonObject, type JsonObject, readInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createInvite, newNodeCaller, testSigner } from '@chancery/testkit'
import type { AuthorityProcess, ManualClock, NodeCaller, TestResponse } from '@chancery/testkit'
import type { FaultInstances } from '../faults/fault-instances.ts'
import type { FaultRecorder } from '../faults/fault-recorder.ts'
import type { Random } from '../lib/random.ts'
import type { ScrapeTarget } from './alarms.ts'

/** One fault from operation. Returns one sentence for each violation; throws when it cannot be set up. */
export interface OperateCase {
  readonly name: string
  run(random: Random, log: (line: string) => void): Promise<readonly string[]>
}

/** These setups have no standby. The alert for a missing standby fires after ten minutes of rule time. */
export const WITHOUT_STANDBY = ['ChancerySyncStandbyMissing'] as const
/** Alerts that refused writes cause. They may fire with the alert that names the cause, and must end with it. */
export const FOLLOWING = ['ChanceryServerErrors', 'ChanceryJobFailing', 'ChanceryAuditWriteFailed'] as const
/** A case whose services run in its own process does not measure their event loops. */
export const ONE_PROCESS = ['ChanceryEventLoopSlow'] as const
/** Fifteen minutes of rule time, the longest range of a rule, and two more. */
export const SCRAPES_AFTER = 70

export class Findings {
  readonly violations: string[] = []

  add(sentence: string): void {
    this.violations.push(sentence)
  }

  require(isGood: boolean, sentence: string): void {
    if (!isGood) this.add(sentence)
  }

  /** Adds a violation unless the condition becomes true within the time. */
  async until(sentence: string, seconds: number, holds: () => Promise<boolean>): Promise<boolean> {
    const end = performance.now() + seconds * 1000
    for (;;) {
      if (await holds().catch(() => false)) return true
      if (performance.now() > end) break
      await pause(50)
    }
    this.add(`${sentence}: not within ${seconds} s`)
    return false
  }
}

export function authorityTargets(processes: readonly AuthorityProcess[]): ScrapeTarget[] {
  return processes.map((process, index) => authorityTarget(`na${index + 1}`, () => process))
}

/** `current` returns the process at this address of the scrape configuration, if there is one. */
export function authorityTarget(instance: string, current: () => AuthorityProcess | undefined): ScrapeTarget {
  return {
    job: 'chancery-authority',
    instance,
    async read() {
      const answer = await current()?.request('GET', '/metrics')
      if (answer?.status !== 200) throw new Error(`/metrics answered ${answer?.status ?? 'nothing'}`)
      return answer.text
    },
  }
}

/** Longest pause of a job after an outage of 90 s: 64 s, a tenth more, and the time of a run. */
const JOBS_SECONDS = 90

/** Requires that each job succeeds after the fault. A job that failed often pauses first, so its alert ends later. */
export async function requireJobsRecover(processes: readonly AuthorityProcess[], findings: Findings): Promise<void> {
  for (const [index, process] of processes.entries())
    await findings.until(`instance ${index + 1}: every job succeeds again`, JOBS_SECONDS, async () => {
      const { status, text } = await process.request('GET', '/metrics')
      return status === 200 && !/^chancery_job_failures_in_row\{[^}]*\} [1-9]/m.test(text)
    })
}

/** Returns the members of /readyz, also from a refusal. */
async function readinessOf(process: AuthorityProcess): Promise<JsonObject> {
  const { json } = await process.request('GET', '/readyz')
  const body = isJsonObject(json) ? json : {}
  const error = isJsonObject(body['error']) ? body['error'] : {}
  return isJsonObject(error['details']) ? error['details'] : body
}

export async function readinessNames(
  process: AuthorityProcess,
  member: 'reasons' | 'warnings',
  word: string,
): Promise<boolean> {
  const list = (await readinessOf(process))[member]
  return Array.isArray(list) && list.includes(word)
}

export async function healthOf(process: AuthorityProcess): Promise<{ status: unknown; reasons: readonly unknown[] }> {
  const { json } = await process.request('GET', '/health')
  const body = isJsonObject(json) ? json : {}
  return { status: body['status'], reasons: Array.isArray(body['reasons']) ? body['reasons'] : [] }
}

/** Returns the result of one check of `chancery doctor`, with the settings of the service. */
export async function doctorOn({ envFile }: Pick<FaultInstances, 'envFile'>, check: string): Promise<string> {
  const findings = await commands.diagnose({ flags: {}, envFile })
  return findings.find((finding) => finding.check === check)?.status ?? 'absent'
}

/** Returns the instant in a member, if it has one. */
export function instantIn(body: JsonObject, name: string): Instant | undefined {
  const value = body[name]
  return typeof value === 'string' ? readInstant(value) : undefined
}

export const ATTESTATION = { subject_id: 'clerk', roles: ['role:client'] }

export type SigningCall = readonly [name: string, call: () => Promise<TestResponse>]

/** One call of each kind that signs, besides a revocation. A join needs an invite, which is not signed. */
export async function signingCalls(
  authority: AuthorityProcess,
  by: { readonly node: NodeCaller; readonly cert_id: string; readonly recorder: FaultRecorder },
): Promise<readonly SigningCall[]> {
  const send = authority.as('privileged')
  const other = await newNodeCaller(authority.url, 'token join', systemClock)
  const invite = await createInvite(authority)
  const partner = { subject_sovereign_id: 'FJORD', subject_public_keys: [(await testSigner('p', 'partner')).publicKey] }
  return [
    ['a policy', () => send('POST', '/admin/policy', { policy_id: `p-${performance.now()}` })],
    ['an attestation', () => send('POST', '/admin/attestations', ATTESTATION)],
    ['a treaty', () => send('POST', '/admin/recognition-treaties', partner)],
    ['a decision', () => by.recorder.decideAt(authority)],
    ['a join', () => other.join(invite)],
    ['a renewal', () => by.node.renew(by.cert_id)],
  ]
}

/** Shorter waits are not those between runs of jobs and refreshes that matter to a day. */
const LONG_MS = 50_000
const FACTOR = 10_000
const LEAST_MS = 200

/**
 * Shortens the long waits of this process, so that jobs and refreshes of services in it run by themselves while a case
 * lets days pass on their clock. Those waits are spread by chance, so they are no whole numbers, and time limits are:
 * these keep their length, as do the threads of the services. Returns what ends it.
 */
export function shortenLongWaits(): () => void {
  const real = globalThis.setTimeout
  const quick = (work: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): NodeJS.Timeout =>
    real(work, ms < LONG_MS || Number.isInteger(ms) ? ms : Math.max(LEAST_MS, ms / FACTOR), ...given)
  globalThis.setTimeout = Object.assign(quick, real) as typeof globalThis.setTimeout
  return () => {
    globalThis.setTimeout = real
  }
}

/** Lets hours pass one by one. After each, `settled` must become true before the next one begins. */
export async function passHours(
  clock: ManualClock,
  hours: number,
  { settled, look }: { readonly settled: () => Promise<boolean>; readonly look: (hour: number) => Promise<void> },
): Promise<void> {
  for (let hour = 1; hour <= hours; hour += 1) {
    clock.advance(3600)
    const end = performance.now() + SETTLED_MS
    while (!(await settled())) {
      if (performance.now() > end) throw new Error(`the jobs of hour ${hour} did not run within ${SETTLED_MS / 1000} s`)
      await pause(20)
    }
    await look(hour)
  }
}

const SETTLED_MS = 60_000
