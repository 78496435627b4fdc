import { SettingsError, requireValues } from '@chancery/service-kit'
import { expect } from 'vitest'
import { type AuthoritySettings, readAuthoritySettings } from './authority-settings.ts'

export const MINIMAL = { GENESIS_FILE: '/etc/genesis.json', NA_PRIVATE_KEY_FILE: '/etc/na.key' }

/** From a settings file; undefined takes a name out of the minimal ones. */
export function read(values: Record<string, string | undefined> = {}): AuthoritySettings {
  const lines = Object.entries({ ...MINIMAL, ...values }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  return requireValues(
    readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'authority.env', text: lines.join('\n') } }),
  )
}

export function problemsOf(run: () => unknown): readonly string[] {
  try {
    run()
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

/** One line of the refusal begins with the name, and only that name is blamed. */
export function expectBlamed(values: Record<string, string | undefined>, ...names: readonly string[]): void {
  const problems = problemsOf(() => read(values))
  expect(problems.map((problem) => problem.split(':')[0])).toEqual(names)
  for (const problem of problems) expect(problem).not.toContain('\n')
}
