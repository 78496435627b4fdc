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
  /** Shown in help. It applies only when no setting, environment value or configuration file has another value. */
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

/** Options of every command that reads the key and the database of the authority. */
export const HOST_OPTIONS: Command['options'] = [
  { flags: '--genesis <file>', summary: 'Signed genesis block (GENESIS_FILE)' },
  { flags: '--na-private-key <file>', summary: 'Private key file of the authority (NA_PRIVATE_KEY_FILE)' },
  { flags: '--key-id <id>', summary: 'Key id written into signatures (NA_KEY_ID)', default: 'na-2025-q1' },
  { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH)', default: 'chancery.db' },
  { flags: '--env-file <file>', summary: 'File with settings; environment variables override it' },
]

/** Of the commands that print settings. */
export const CHANGED: CommandOption = { flags: '--changed', summary: 'Only settings that differ from their default' }
