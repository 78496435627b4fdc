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
  /** The words after the program name, for example ['policy', 'publish']. */
  readonly path: readonly [string, ...string[]]
  readonly summary: string
  readonly description: string
  readonly arguments: readonly CommandArgument[]
  readonly options: readonly CommandOption[]
  readonly examples: readonly [CommandExample, ...CommandExample[]]
  /** What must be at hand: a private key, or the machine the authority runs on. */
  readonly needs: 'nothing' | 'operator' | 'node' | 'authority-host'
}

/** Options of every command. They take precedence over everything that a folder or a saved network names. */
export const GLOBAL_OPTIONS: readonly CommandOption[] = [
  { flags: '--home <dir>', summary: 'Folder of an authority, gateway or node', repeatable: true },
  { flags: '--network <name>', summary: 'A network saved with use' },
  { flags: '--url <address>', summary: 'Address of the authority' },
  { flags: '--genesis <pin>', summary: 'Identity of the network: a file or sha256:<hex>' },
  { flags: '--operator-key <file>', summary: 'Private key file of the operator' },
  { flags: '--json', summary: 'Print one JSON document' },
  { flags: '--quiet', summary: 'Print results only' },
  { flags: '--no-color', summary: 'Print without colours' },
  { flags: '--verbose', summary: 'Also print where each value came from' },
]

// Options with one spelling and one meaning.
export const YES: CommandOption = { flags: '--yes', summary: 'Do not ask for confirmation' }
export const DRY_RUN: CommandOption = { flags: '--dry-run', summary: 'Only show what would change' }
export const FORCE: CommandOption = { flags: '--force', summary: 'Replace existing files' }
export const OUT: CommandOption = { flags: '--out <file>', summary: 'Write the result to a new file' }
export const REASON: CommandOption = { flags: '--reason <text>', summary: 'Reason, for the audit log' }
export const SINCE: CommandOption = { flags: '--since <time>', summary: 'From this time on (ISO 8601)' }
export const UNTIL: CommandOption = { flags: '--until <time>', summary: 'Up to this time (ISO 8601)' }
export const DETACH: CommandOption = {
  flags: '--detach',
  summary: 'Run in the background; stop it with chancery down',
}
export const KEY_HISTORY: CommandOption = { flags: '--key-history <file>', summary: 'Former keys of the authority' }
export const ALLOW_HTTP: CommandOption = { flags: '--allow-http', summary: 'Allow http inside your own networks' }

/** Options of every command that revokes: it shows a preview, then asks for confirmation. */
export const REVOKING_OPTIONS: readonly CommandOption[] = [DRY_RUN, YES]

export const LIST_OPTIONS: readonly CommandOption[] = [
  { flags: '--limit <n>', summary: 'Maximum number of rows, 1 to 1000', default: '50' },
  { flags: '--all', summary: 'All rows, page by page' },
]

export function required(option: CommandOption): CommandOption {
  return { ...option, required: true }
}

/** A command without the members that most have empty. */
export function command(
  line: string,
  summary: string,
  description: string,
  rest: Partial<Pick<Command, 'arguments' | 'options' | 'needs'>> & { readonly examples: Command['examples'] },
): Command {
  const [first = '', ...more] = line.split(' ')
  return { path: [first, ...more], summary, description, arguments: [], options: [], needs: 'nothing', ...rest }
}
