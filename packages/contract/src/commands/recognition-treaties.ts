import { type Command, type CommandOption, LIST_OPTIONS, REVOKING_OPTIONS } from './command.ts'

export const CAPABILITY_OPTION: CommandOption = {
  flags: '--capability <pattern>',
  summary: 'Capability that decisions may allow its members, or a pattern such as ledger.*; default: none',
  repeatable: true,
}

const SCOPE_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--role <role>',
    summary: 'Role accepted from its members; default: none',
    repeatable: true,
  },
  {
    flags: '--accept-status <word>',
    summary: 'Accepted status of its attestations; default: active',
    repeatable: true,
  },
  CAPABILITY_OPTION,
]

const ID = { name: 'id', summary: 'Id of the treaty', required: true } as const

export const treatyCommands: readonly Command[] = [
  {
    path: ['treaty', 'issue'],
    summary: 'Issue a treaty with a partner network',
    description:
      'Signs that this network recognises members of a partner network, within a scope and for a limited time. To check the partner network first, use federation bootstrap.',
    arguments: [{ name: 'sovereign', summary: 'Name of the partner network', required: true }],
    options: [
      {
        flags: '--key <key>',
        summary: 'Key of its authority: a .pub file or base64',
        repeatable: true,
        required: true,
      },
      ...SCOPE_OPTIONS,
      { flags: '--validity-hours <n>', summary: 'Validity in hours, 1 to 26280', default: '168' },
      { flags: '--metadata <name=value>', summary: 'Text shown with the treaty', repeatable: true },
    ],
    examples: [
      {
        line: 'chancery treaty issue PARTNER-NET --key partner-na.pub --role role:client --validity-hours 720',
        summary: 'Accept its clients for 30 days',
      },
      {
        line: "chancery treaty issue PARTNER-NET --key partner-na.pub --role role:client --capability 'ledger.*'",
        summary: 'Let decisions allow its clients the capabilities of this pattern',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'renew'],
    summary: 'Renew a treaty',
    description: 'Issues the same treaty again, then ends the earlier one. Recognition is not interrupted.',
    arguments: [ID],
    options: [
      {
        flags: '--validity-hours <n>',
        summary: 'Validity of the new treaty in hours; default: as long as the earlier one',
      },
    ],
    examples: [
      { line: 'chancery treaty renew 73ea7100-0000-4000-8000-000000000001', summary: 'Renew for the same period' },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'replace'],
    summary: 'Replace a treaty',
    description:
      'Issues a treaty with other keys, scope or validity for the same partner network, then ends the earlier one. Options that you omit are copied from the earlier treaty.',
    arguments: [ID],
    options: [
      { flags: '--key <key>', summary: 'New keys of its authority', repeatable: true },
      { flags: '--role <role>', summary: 'New accepted roles', repeatable: true },
      { flags: '--accept-status <word>', summary: 'New accepted statuses', repeatable: true },
      { flags: '--capability <pattern>', summary: 'New capabilities in decisions', repeatable: true },
      {
        flags: '--validity-hours <n>',
        summary: 'Validity of the new treaty in hours; default: as long as the earlier one',
      },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery treaty replace 73ea7100-0000-4000-8000-000000000001 --key partner-na-2.pub',
        summary: 'Replace it after the partner network changed its key',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'revoke'],
    summary: 'Revoke a treaty',
    description: 'Ends the recognition of a partner network. Its members are no longer accepted.',
    arguments: [ID],
    options: [{ flags: '--reason <text>', summary: 'Reason, public', default: 'unspecified' }, ...REVOKING_OPTIONS],
    examples: [
      {
        line: 'chancery treaty revoke 73ea7100-0000-4000-8000-000000000001 --dry-run',
        summary: 'Only show the preview',
      },
      {
        line: 'chancery treaty revoke 73ea7100-0000-4000-8000-000000000001 --reason relationship-ended',
        summary: 'Show the preview, ask, then revoke the treaty',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'list'],
    summary: 'List treaties',
    description: 'Lists the treaties of this authority with their state, oldest first or by their end.',
    arguments: [],
    options: [
      { flags: '--subject <id>', summary: 'Only treaties with this network' },
      { flags: '--status <word>', summary: 'Only entries with this status', choices: ['active', 'revoked'] },
      {
        flags: '--state <word>',
        summary: 'Only treaties in this state',
        choices: ['active', 'expiring_soon', 'expired', 'revoked', 'replaced'],
      },
      { flags: '--prefix <text>', summary: 'Only networks whose name begins with this text' },
      { flags: '--by-end', summary: 'Order by the end of the treaties' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery treaty list --status active', summary: 'List recognised networks and expiry' },
      { line: 'chancery treaty list --state expiring_soon --by-end', summary: 'List what ends next' },
    ],
    needs: 'nothing',
  },
  {
    path: ['treaty', 'inspect'],
    summary: 'Show and check a treaty',
    description: 'Prints a treaty and reports whether it is valid. Exit code 1 if it is not.',
    arguments: [{ name: 'treaty', summary: 'Id of a treaty, or a .json file', required: true }],
    options: [
      {
        flags: '--issuer-key <key>',
        summary: "Key of the issuer of a partner's treaty: a .pub file or base64",
        repeatable: true,
      },
      { flags: '--out <file>', summary: 'Write the treaty to a new file' },
    ],
    examples: [
      {
        line: 'chancery treaty inspect 73ea7100-0000-4000-8000-000000000001',
        summary: 'Show a treaty of this authority',
      },
      {
        line: 'chancery treaty inspect theirs.json --issuer-key partner-na.pub',
        summary: 'Show a treaty of a partner network',
      },
    ],
    needs: 'nothing',
  },
]
