import { type JsonObject, isJsonObject, readJsonBytes, readOrUndefined } from '@chancery/protocol'
import type { MaybePromise } from './async/steps.ts'
import { TimeLimitError, inTime } from './async/sleep.ts'
import { OutboundError, callUrl } from './outbound/call-url.ts'

/** Result of one check: one row of the table, or one object for a program. */
export interface Finding {
  /** A stable name for scripts. docs/operate/doctor.md lists them. */
  readonly check: string
  /** `bad`: unsafe, or does not work. `warn`: works, but will cause a problem later. */
  readonly status: 'good' | 'warn' | 'bad' | 'skipped'
  readonly found: string
  /** What to do, in one sentence. Always set for `warn` and `bad`. */
  readonly fix?: string
  /** What happens because of it, in one sentence. */
  readonly effect?: string
  /** The id of what it is about, such as a partner or a policy. */
  readonly about?: string
  /** When it ends, or since when it holds. */
  readonly at?: string
}

/** Members of a finding that not every check has. */
type FindingFacts = Pick<Finding, 'effect' | 'about' | 'at'>

export function good(check: string, found: string): Finding {
  return { check, status: 'good', found }
}

export function warn(check: string, found: string, fix: string, facts: FindingFacts = {}): Finding {
  return { check, status: 'warn', found, fix, ...facts }
}

export function bad(check: string, found: string, fix: string, facts: FindingFacts = {}): Finding {
  return { check, status: 'bad', found, fix, ...facts }
}

export function skipped(check: string, found: string): Finding {
  return { check, status: 'skipped', found }
}

/** Returns one finding per problem of the settings. */
export function settingFindings(problems: readonly string[], service: string): readonly Finding[] {
  const file = `Give --env-file the settings of the ${service}, as its user or as root.`
  const known = 'Fix this setting: docs/reference/settings.md.'
  return problems.map((problem) => bad('settings', problem, problem.startsWith('--env-file:') ? file : known))
}

/** One question about a service. A table of them is what a route or a doctor reports. */
export interface Check<Parts, Answer = Finding | readonly Finding[]> {
  readonly name: string
  find(parts: Parts): MaybePromise<Answer>
}

/** Runs one check in its time. `failed` answers for one that failed or was late. */
export async function runCheck<Parts, Answer>(
  check: Check<Parts, Answer>,
  parts: Parts,
  limitMs: number,
  failed: (error: unknown) => Answer,
): Promise<Answer> {
  try {
    return await inTime(check.find(parts), limitMs)
  } catch (error) {
    return failed(error)
  }
}

/**
 * Runs a table one after the other, so that other work finds a connection of the database. Each answer is added at once:
 * an error that ends the run hides none before it.
 */
export async function runChecks<Parts>(
  checks: readonly Check<Parts>[],
  parts: Parts,
  findings: Finding[],
  { limitMs, failed }: { readonly limitMs: number; readonly failed: (name: string, error: unknown) => Finding },
): Promise<void> {
  for (const check of checks)
    findings.push(...[await runCheck(check, parts, limitMs, (error) => failed(check.name, error))].flat())
}

/** For a doctor: an error ends the run, because the next check would have it, too. */
export const DOCTOR_RULES = {
  limitMs: 120_000,
  failed: (name: string, error: unknown): Finding => {
    if (error instanceof TimeLimitError) return skipped(name, 'no result within 120 s')
    throw error
  },
}

/** The address at which a service on this machine can be asked. */
export function ownOrigin({ host, port }: { readonly host: string; readonly port: number }): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

export interface Reply {
  readonly status: number
  /** Undefined for another text, and for one that is too large. */
  readonly body: JsonObject | undefined
}

/** Asks as a load balancer does. Undefined without a response. Redirects are responses: none is followed. */
export async function askService(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply | undefined> {
  try {
    const { status, body } = await callUrl({
      url: new URL(url),
      headers: { 'accept-encoding': 'identity', ...headers },
      timeoutMs: 5000,
      maxBytes: 1_048_576,
      allowPrivate: true,
    })
    const value = readOrUndefined(() => readJsonBytes(body))
    return { status, body: isJsonObject(value) ? value : undefined }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return error.response && { status: error.response.status, body: undefined }
  }
}
