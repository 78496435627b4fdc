export interface FailureFacts {
  /** For programs, in snake case. */
  readonly code: string
  readonly message: string
  /** What to do next, in one or two sentences. */
  readonly hint?: string | undefined
  /** 1: refused or failed. 2: called wrongly. */
  readonly exitCode?: 1 | 2
}

/** A known reason to stop. The program prints it; nothing else needs to. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: string
  readonly hint: string | undefined
  readonly exitCode: 1 | 2

  constructor(facts: FailureFacts, options?: ErrorOptions) {
    super(facts.message, options)
    this.code = facts.code
    this.hint = facts.hint
    this.exitCode = facts.exitCode ?? 1
  }
}

/** The command was called wrongly; exit code 2. */
export function misuse(message: string, hint?: string): Failure {
  return new Failure({ code: 'usage', message, hint, exitCode: 2 })
}
