import { WRONG_SETTINGS } from '@chancery/service-kit'
import type { ConfigurationProblem } from './load-configuration.ts'

/** The configuration cannot be used. Every problem names its setting and path, never a value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  /** What a file contains may be replaced while a supervisor starts the service again. */
  readonly exitCode: number
  readonly problems: readonly ConfigurationProblem[]

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map(problemText).join('\n'))
    this.problems = problems
    this.exitCode = problems.every(({ path }) => path === '') ? WRONG_SETTINGS : 1
  }
}

export function problemText({ setting, path, message }: ConfigurationProblem): string {
  return `${setting}: ${path === '' ? '' : `${path} `}${message}`
}
