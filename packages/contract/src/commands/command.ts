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

/** Options of every command that revokes: it shows a preview, then asks for confirmation. */
export const REVOKING_OPTIONS: readonly CommandOption[] = [
  { flags: '--dry-run', summary: 'Only show what would no longer be trusted' },
  { flags: '--yes', summary: 'Do not ask for confirmation' },
]

export const LIST_OPTIONS: readonly CommandOption[] = [
  { flags: '--limit <n>', summary: 'Maximum number of entries, 1 to 1000', default: '50' },
  { flags: '--all', summary: 'All entries, page by page' },
]

/** Options of every command. They take precedence over the configuration file. */
export const GLOBAL_OPTIONS: readonly CommandOption[] = [
  { flags: '--json', summary: 'Print one JSON document instead of text' },
  {
    flags: '--config <file>',
    summary:
      'Configuration file; default: CHANCERY_CONFIG, ./chancery.toml, the choice of use, ~/.chancery/config.toml',
  },
  { flags: '--url <address>', summary: 'Base URL of the authority' },
  { flags: '--operator-key <file>', summary: 'Private key file of the operator' },
  { flags: '--operator-key-id <id>', summary: 'Key id of the operator key at the authority' },
  { flags: '--no-color', summary: 'Print without colors' },
  { flags: '--quiet', summary: 'Print no remarks, and of records only their ids' },
  { flags: '--exact-times', summary: 'Print times with fractions of a second' },
]

/** Commands that check a deployment: with its settings, and from outside like a verifier. */
export const doctorCommands: readonly Command[] = [
  {
    path: ['doctor'],
    summary: 'Check a deployment and report what to do',
    description:
      'Checks settings, key files, database durability, clocks, high-water marks, lists, feeds, treaties, anchors, instances, the limiter and, with --public-url, the public address. Changes nothing; the proxy check causes one audit event of a refused call. Exit code 1 if a check fails.',
    arguments: [],
    options: [
      ...HOST_OPTIONS,
      { flags: '--public-url <url>', summary: 'Public URL of the authority, through the load balancer' },
    ],
    examples: [
      {
        line: 'chancery doctor --env-file /etc/chancery/authority.env',
        summary: 'Run it on the machine of the authority',
      },
      {
        line: 'chancery doctor --env-file /etc/chancery/authority.env --public-url https://na.example.org --json',
        summary: 'Also check the public address, in JSON',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['settings'],
    summary: 'Print every setting of an authority with its origin',
    description:
      'Prints each setting with its value, whether a flag, the environment, the settings file or the default gave it, and a star when it differs from the default. Secrets are only shown as set. Exit code 1 if a start with these settings would be refused.',
    arguments: [],
    options: [...HOST_OPTIONS, CHANGED],
    examples: [
      {
        line: 'chancery settings --env-file /etc/chancery/authority.env --changed',
        summary: 'Show what differs from the defaults',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['findings'],
    summary: 'List what needs attention in a network',
    description:
      'Asks a running authority for its findings, in the words of doctor: lists, partners, policies, nodes, anchors, backup and operator keys. Checks of settings, files and the machine need doctor on its host. Exit code 1 if a check fails.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery findings', summary: 'List problems with their fixes' }],
    needs: 'operator',
  },
  {
    path: ['watch'],
    summary: 'Monitor what an authority publishes, from outside',
    description:
      'Reads the revocation list and the feed like a verifier. Checks that they are reachable, signed by the authority of the genesis block and fresh, and that their sequences never go back or repeat with other content. Exit code 1 if a check fails.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Genesis block that pins the authority; default: the configured one' },
      { flags: '--state <file>', summary: 'File for the last positions; without it only the current state is checked' },
      { flags: '--every <seconds>', summary: 'Repeat every so many seconds until stopped, one line per check' },
      { flags: '--canary <certificate-id>', summary: 'Revoked certificate that the list must contain' },
      { flags: '--metrics-file <file>', summary: 'Also write Prometheus text for the node exporter' },
    ],
    examples: [
      {
        line: 'chancery watch --url https://na.example.org --genesis genesis.json --state watch.json',
        summary: 'Check once, from a timer',
      },
      {
        line: 'chancery watch --url https://na.example.org --genesis genesis.json --state watch.json --every 60 --json --metrics-file /var/lib/node-exporter/chancery.prom',
        summary: 'Run as a service',
      },
    ],
    needs: 'nothing',
  },
]
