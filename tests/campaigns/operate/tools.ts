import { setTimeout as pause } from 'node:timers/promises'
import { commands } from '@chancery/authority'
import { type Instant, type JsonObject, isJsonObject, readInstant } from '@chancery/protocol'
import type { AuthorityProcess } from '@chancery/testkit'
import type { ScrapeTarget } from './alarms.ts'
import type { FaultInstances } from '../faults/fault-instances.ts'
import type { Random } from '../lib/random.ts'

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
export async function readinessOf(process: AuthorityProcess): Promise<JsonObject> {
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
