import { WRONG_SETTINGS } from '@chancery/service-kit'
import type { ConfigurationProblem } from './load-configuration.ts'

/** The configuration cannot be used. Every problem names its setting and path, never a value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly exitCode: number = WRONG_SETTINGS
  readonly problems: readonly ConfigurationProblem[]

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map(problemText).join('\n'))
    this.problems = problems
  }
}

export function problemText({ setting, path, message }: ConfigurationProblem): string {
  return `${setting}: ${path === '' ? '' : `${path} `}${message}`
}
