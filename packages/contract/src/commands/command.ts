/** How the program is called, in help, examples and reference pages. */
export const PROGRAM_NAME = 'chancery'

export interface CommandArgument {
  readonly name: string
  readonly summary: string
  readonly required: boolean
  /** Takes all remaining words. */
  readonly variadic?: true
  /** The only words allowed. */
  readonly choices?: readonly string[]
}

export interface CommandOption {
  /** The flag with its value in angle brackets; without one it is a switch. */
  readonly flags: `--${string}`
  readonly summary: string
  /** Shown in help. It applies only when no setting, environment value or configuration file says otherwise. */
  readonly default?: string
  readonly required?: true
  readonly repeatable?: true
  /** The only values allowed. */
  readonly choices?: readonly string[]
}

export interface CommandExample {
  /** A complete command line, ready to paste. */
  readonly line: string
  readonly summary: string
}

/** A command as data: the program, its completion, /surfaces and /cli-reference all read it. */
export interface Command {
  /** The words after the program name, for example ['network-policy', 'publish']. */
  readonly path: readonly [string, ...string[]]
  readonly summary: string
  readonly description: string
  readonly arguments: readonly CommandArgument[]
  readonly options: readonly CommandOption[]
  readonly examples: readonly [CommandExample, ...CommandExample[]]
  /** What must be at hand: a private key, or the machine the authority runs on. */
  readonly needs: 'nothing' | 'operator' | 'node' | 'authority-host'
}
