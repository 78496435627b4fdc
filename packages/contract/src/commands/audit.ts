import type { Command, CommandOption } from './command.ts'

/** Where the events are. No key and no genesis block is needed to read them. */
const DATABASE_OPTIONS: Command['options'] = [
  { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH)', default: 'chancery.db' },
  { flags: '--env-file <file>', summary: 'File with settings; environment variables override it' },
]

/** Forms in which audit events leave a service. `json` is the event itself. */
export const AUDIT_FORMATS = ['json', 'ocsf', 'cloudevents'] as const
export type AuditFormat = (typeof AUDIT_FORMATS)[number]

const AUDIT_FORMAT_OPTION: CommandOption = {
  flags: '--format <word>',
  summary: 'Form of each event: as stored, OCSF 1.8 or CloudEvents 1.0',
  default: 'json',
  choices: AUDIT_FORMATS,
}

export const auditCommands: readonly Command[] = [
  {
    path: ['audit', 'export'],
    summary: 'Export audit events',
    description:
      'Reads audit events from the database and writes them as JSON Lines. An export that continues after the last cursor misses no event; the last line on standard error is the next cursor. Fields that could contain a secret are redacted.',
    arguments: [],
    options: [
      { flags: '--after <cursor>', summary: 'Only events after this cursor', default: '0' },
      { flags: '--limit <n>', summary: 'Maximum number of events' },
      { flags: '--out <file>', summary: 'New file; default: standard output' },
      AUDIT_FORMAT_OPTION,
      {
        flags: '--name <name>',
        summary: 'Continue after the last export of this name and store the new position; needs --out',
      },
      {
        flags: '--remove',
        summary: 'Delete the stored position of --name, so that it no longer delays retention; exports nothing',
      },
      ...DATABASE_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery audit export --env-file /etc/chancery/authority.env --out audit.jsonl',
        summary: 'Export all events',
      },
      {
        line: 'chancery audit export --env-file /etc/chancery/authority.env --name archive --out audit-2026-07.jsonl',
        summary: 'Export the events since the last export of this name',
      },
      {
        line: 'chancery audit export --env-file /etc/chancery/authority.env --format ocsf --out audit-ocsf.jsonl',
        summary: 'Export all events for a SIEM that reads OCSF',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['audit', 'forward'],
    summary: 'Send audit events to NATS JetStream',
    description:
      'Sends every audit event at least once to a stream, with its id as Nats-Msg-Id. Runs until it is stopped. The position is stored in the database, so the command can be restarted on any machine.',
    arguments: [],
    options: [
      { flags: '--to <url>', summary: 'NATS server: nats://… or tls://…' },
      { flags: '--to-file <file>', summary: 'File with that URL, for one with a password' },
      { flags: '--creds <file>', summary: 'Credentials file for the server' },
      { flags: '--ca <file>', summary: 'Root certificate for the TLS of the server' },
      { flags: '--stream <name>', summary: 'JetStream stream; created when it is missing', default: 'CHANCERY_AUDIT' },
      { flags: '--subject <subject>', summary: 'Subject; the event type is appended', default: 'chancery.audit' },
      { flags: '--once', summary: 'Exit when all events are sent' },
      AUDIT_FORMAT_OPTION,
      { flags: '--name <name>', summary: 'Name of the stored position; each name sends all events', default: 'nats' },
      {
        flags: '--after <cursor>',
        summary: 'Ignore the stored position and start after this cursor; 0 sends all events again',
      },
      {
        flags: '--remove',
        summary: 'Delete the stored position of --name and exit; stop the forwarder first',
      },
      ...DATABASE_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery audit forward --to tls://nats.example:4222 --env-file /etc/chancery/authority.env',
        summary: 'Run next to the authority',
      },
      {
        line: 'chancery audit forward --to-file /etc/chancery/nats.url --env-file /etc/chancery/authority.env --format ocsf --name siem',
        summary: 'Send OCSF events, with a separate position',
      },
      {
        line: 'chancery audit forward --env-file /etc/chancery/authority.env --name old-broker --remove',
        summary: 'Delete the position of a forwarder that no longer runs',
      },
    ],
    needs: 'authority-host',
  },
]

export const ENV_FILE: CommandOption = {
  flags: '--env-file <file>',
  summary: 'File with settings; environment variables override it',
}

export const gatewayAudit: readonly Command[] = [
  {
    path: ['gateway', 'audit', 'verify'],
    summary: 'Check the audit chain',
    description: 'Recomputes every hash and link of the stored audit events. Exit code 1 if one is wrong.',
    arguments: [],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway audit verify', summary: 'Works while the gateway runs' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'audit', 'export'],
    summary: 'Print the audit events of a gateway',
    description:
      'Prints the stored audit events as JSON Lines, oldest first. It verifies the chain and stops before the first event that does not follow.',
    arguments: [],
    options: [AUDIT_FORMAT_OPTION, ENV_FILE],
    examples: [
      { line: 'chancery gateway audit export > audit.ndjson', summary: 'Works while the gateway runs' },
      { line: 'chancery gateway audit export --format cloudevents > audit.ndjson', summary: 'Print CloudEvents' },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'audit', 'prune'],
    summary: 'Remove old audit events of a gateway',
    description:
      'Removes stored audit events that are older than the given days; the chain stays verifiable, and an event names what was removed. With a collector, events that it has not acknowledged stay. Export what you need and stop the gateway first.',
    arguments: [],
    options: [
      { flags: '--older-than-days <n>', summary: 'Minimum age of removed events in days, 0 to 36500', required: true },
      ENV_FILE,
    ],
    examples: [
      {
        line: 'chancery gateway audit prune --older-than-days 30',
        summary: 'Make room in a state that is nearly full',
      },
    ],
    needs: 'nothing',
  },
]
