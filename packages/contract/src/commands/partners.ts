import { type Command, type CommandOption, LIST_OPTIONS } from './command.ts'

const SOVEREIGN = { name: 'sovereign', summary: 'Name of the partner', required: true } as const
const REASON: CommandOption = { flags: '--reason <text>', summary: 'Reason, for the audit log', required: true }

const PIN_OPTIONS: readonly CommandOption[] = [
  { flags: '--root-key <key>', summary: 'Its root key: a .pub file or base64; recommended' },
  {
    flags: '--authority-key <key>',
    summary: 'Its authority key, in place of the root key: exactly these keys are accepted',
    repeatable: true,
  },
]

const PULL_OPTIONS: readonly CommandOption[] = [
  { flags: '--every <seconds>', summary: 'Time between two pulls, 60 to 86400; default: 300' },
  {
    flags: '--max-feed-age <seconds>',
    summary: 'Oldest feed that decisions accept, 60 to 2592000; 0: any; default: NA_FOREIGN_FEED_MAX_AGE_SECONDS',
  },
]

export const partnerCommands: readonly Command[] = [
  {
    path: ['partner', 'add'],
    summary: 'Register a partner',
    description:
      'Registers another network whose published material this authority reads. It recognises no members: only a treaty does. Its genesis block is read and compared with the given key first.',
    arguments: [{ name: 'address', summary: 'Base URL of the other authority', required: true }],
    options: [
      ...PIN_OPTIONS,
      { flags: '--name <sovereign>', summary: 'Its expected name; default: the name in its genesis block' },
      { flags: '--import-feeds', summary: 'Import its revocation feed with every pull' },
      ...PULL_OPTIONS,
      { flags: '--allow-http', summary: 'Allow http, only to a private or loopback address' },
      { flags: '--label <text>', summary: 'Text shown with the partner, 1 to 64 characters' },
      { flags: '--defer', summary: 'Read nothing now; needs --name' },
    ],
    examples: [
      {
        line: 'chancery partner add https://na.partner.example --root-key partner-root.pub --import-feeds',
        summary: 'Read its material every 300 seconds and import its revocations',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['partner', 'list'],
    summary: 'List partners',
    description: 'Lists the partners of this authority by name, with state and last pull.',
    arguments: [],
    options: [
      {
        flags: '--state <state>',
        summary: 'Only partners in this state',
        choices: ['alarm', 'paused', 'new', 'fresh', 'watch', 'stale'],
      },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery partner list', summary: 'All partners with their state' },
      { line: 'chancery partner list --state alarm', summary: 'Partners with an open alarm' },
    ],
    needs: 'operator',
  },
  {
    path: ['partner', 'show'],
    summary: 'Show a partner',
    description: 'Prints one partner with its keys, what was read from it, and its alarms.',
    arguments: [SOVEREIGN],
    options: [],
    examples: [{ line: 'chancery partner show PARTNER-NET', summary: 'State, keys, feed and alarms' }],
    needs: 'operator',
  },
  {
    path: ['partner', 'pull'],
    summary: 'Pull a partner now',
    description:
      'Reads the published material of a partner now, at most once in 10 seconds. Exit code 1 if the outcome is neither ok nor unchanged.',
    arguments: [SOVEREIGN],
    options: [],
    examples: [{ line: 'chancery partner pull PARTNER-NET', summary: 'Read its material now' }],
    needs: 'operator',
  },
  {
    path: ['partner', 'set'],
    summary: 'Change a partner',
    description: 'Changes what is given and nothing else. The pinned keys are changed with partner repin.',
    arguments: [SOVEREIGN],
    options: [
      { flags: '--address <url>', summary: 'New base URL' },
      { flags: '--import-feeds <choice>', summary: 'Import its revocation feed', choices: ['on', 'off'] },
      ...PULL_OPTIONS,
      { flags: '--default-feed-age', summary: 'Oldest feed as the setting of the authority has it' },
      { flags: '--allow-http <choice>', summary: 'Allow http to a private address', choices: ['on', 'off'] },
      { flags: '--pause', summary: 'Stop the pulls' },
      { flags: '--resume', summary: 'Continue the pulls' },
      { flags: '--label <text>', summary: 'New label, 1 to 64 characters' },
      { flags: '--remove-label', summary: 'Remove the label' },
    ],
    examples: [
      { line: 'chancery partner set PARTNER-NET --every 600', summary: 'Pull it every 600 seconds' },
      { line: 'chancery partner set PARTNER-NET --pause', summary: 'Stop the pulls' },
    ],
    needs: 'operator',
  },
  {
    path: ['partner', 'repin'],
    summary: 'Pin other keys of a partner',
    description:
      'Replaces the pinned keys of a partner that shows the new ones. What was read under the former keys is removed; imported revocations stay.',
    arguments: [SOVEREIGN],
    options: [...PIN_OPTIONS, REASON, { flags: '--yes', summary: 'Do not ask for confirmation' }],
    examples: [
      {
        line: 'chancery partner repin PARTNER-NET --root-key partner-root-2.pub --reason new-root',
        summary: 'Accept its new root key',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['partner', 'clear-alarm'],
    summary: 'Clear an alarm of a partner',
    description:
      'Ends an alarm after you found its cause. The content that is read next then counts. Nothing becomes unrevoked.',
    arguments: [SOVEREIGN, { name: 'alarm', summary: 'Id of the alarm', required: true }],
    options: [REASON],
    examples: [
      {
        line: 'chancery partner clear-alarm PARTNER-NET a1a40000-0000-4000-8000-000000000001 --reason asked-them',
        summary: 'Clear one alarm',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['partner', 'remove'],
    summary: 'Remove a partner',
    description:
      'Ends the pulls and removes the treaties it reported. Own treaties and imported revocations stay: end a treaty with treaty revoke.',
    arguments: [SOVEREIGN],
    options: [
      { flags: '--reason <text>', summary: 'Reason, for the audit log', default: 'unspecified' },
      { flags: '--dry-run', summary: 'Only show what would stay' },
      { flags: '--yes', summary: 'Do not ask for confirmation' },
    ],
    examples: [
      { line: 'chancery partner remove PARTNER-NET --dry-run', summary: 'Only show which treaties stay in force' },
      { line: 'chancery partner remove PARTNER-NET --reason ended', summary: 'Show it, ask, then remove' },
    ],
    needs: 'operator',
  },
  {
    path: ['partner', 'treaties'],
    summary: 'List treaties that a partner reports',
    description: 'Lists the treaties that a partner shows as active. They decide nothing here.',
    arguments: [SOVEREIGN],
    options: [...LIST_OPTIONS],
    examples: [{ line: 'chancery partner treaties PARTNER-NET', summary: 'Networks that it recognises' }],
    needs: 'operator',
  },
]
