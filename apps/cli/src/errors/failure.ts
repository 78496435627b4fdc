import { type ExitCode, exitCodeOf } from './exit-codes.ts'

export interface CommandErrorFields {
  /** For programs, in snake case. */
  readonly code: string
  readonly message: string
  /** Single problems; each is printed on its own line. */
  readonly problems?: readonly string[] | undefined
  /** What to do next, in one or two sentences. */
  readonly hint?: string | undefined
  /** Where the code alone does not say it. An error that explains another one has its code. */
  readonly exitCode?: ExitCode
}

/** Ends a command with a known error, which the program prints. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly code: string
  readonly problems: readonly string[]
  readonly hint: string | undefined
  readonly exitCode: ExitCode

  constructor(facts: CommandErrorFields, options?: ErrorOptions) {
    super(facts.message, options)
    this.code = facts.code
    this.problems = facts.problems ?? []
    this.hint = facts.hint
    this.exitCode =
      facts.exitCode ?? (this.cause instanceof CommandError ? this.cause.exitCode : exitCodeOf(facts.code))
  }
}

/** Returns an error for a wrong call; exit code 2. */
export function usageError(message: string, hint?: string): CommandError {
  return new CommandError({ code: 'usage', message, hint, exitCode: 2 })
}
