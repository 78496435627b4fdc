/** Result of one check: one row of the table, or one object for a program. */
export interface Finding {
  /** A stable name for scripts. docs/operate/doctor.md lists them. */
  readonly check: string
  /** `bad`: unsafe, or does not work. `warn`: works, but will cause a problem later. */
  readonly status: 'good' | 'warn' | 'bad' | 'skipped'
  readonly found: string
  /** What to do, in one sentence. Always set for `warn` and `bad`. */
  readonly fix?: string
}

export function good(check: string, found: string): Finding {
  return { check, status: 'good', found }
}

export function warn(check: string, found: string, fix: string): Finding {
  return { check, status: 'warn', found, fix }
}

export function bad(check: string, found: string, fix: string): Finding {
  return { check, status: 'bad', found, fix }
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
