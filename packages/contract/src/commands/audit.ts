import type { Command } from './command.ts'

/** Where the events are. No key and no genesis block is needed to read them. */
const DATABASE_OPTIONS: Command['options'] = [
  { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH).', default: 'chancery.db' },
  { flags: '--env-file <file>', summary: 'Read settings from this file; the environment overrules it.' },
]

export const auditCommands: readonly Command[] = [
  {
    path: ['audit', 'export'],
    summary: 'Export audit events',
    description:
      'Writes audit events as JSON Lines, read from the database itself. Each has a number; an export that goes on behind the last one misses none, whatever was committed meanwhile. The cursor to go on from is the last line on standard error. Members that could hold a secret are redacted.',
    arguments: [],
    options: [
      { flags: '--after <cursor>', summary: 'Only events behind this cursor.', default: '0' },
      { flags: '--limit <n>', summary: 'At most so many.' },
      { flags: '--out <file>', summary: 'The new file; else standard output.' },
      {
        flags: '--name <name>',
        summary: 'Continue after the last export of this name and store how far this one came. Needs --out.',
      },
      ...DATABASE_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery audit export --env-file /etc/chancery/authority.env --out audit.jsonl',
        summary: 'Everything so far.',
      },
      {
        line: 'chancery audit export --env-file /etc/chancery/authority.env --name archive --out audit-2026-07.jsonl',
        summary: 'What came since the last export of this name.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['audit', 'forward'],
    summary: 'Send audit events to NATS JetStream',
    description:
      'Sends every audit event to the stream of the settings (NA_AUDIT_NATS_*), each at least once and with its id as Nats-Msg-Id, and runs until it is told to stop. How far it came is kept in the database: it can be killed and started again anywhere.',
    arguments: [],
    options: [
      { flags: '--once', summary: 'End when everything has been sent.' },
      { flags: '--name <name>', summary: 'Whose position is kept; each name sends everything.', default: 'nats' },
      { flags: '--after <cursor>', summary: 'Forget the position and begin behind this cursor; 0 sends all again.' },
      ...DATABASE_OPTIONS,
    ],
    examples: [
      { line: 'chancery audit forward --env-file /etc/chancery/authority.env', summary: 'Beside the authority.' },
    ],
    needs: 'authority-host',
  },
]
