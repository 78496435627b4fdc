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
export type FindingFacts = Pick<Finding, 'effect' | 'about' | 'at'>

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
