import type { Command, CommandOption } from './command.ts'
import { LIST_OPTIONS, REVOKING_OPTIONS } from './revoking.ts'

const SCOPE_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--role <role>',
    summary: 'Role accepted from its members; without any none is accepted.',
    repeatable: true,
  },
  {
    flags: '--accept-status <word>',
    summary: 'Status accepted of its attestations; active when none is given.',
    repeatable: true,
  },
]

const ID = { name: 'id', summary: 'Id of the treaty.', required: true } as const

export const treatyCommands: readonly Command[] = [
  {
    path: ['treaty', 'issue'],
    summary: 'Recognise another sovereign',
    description:
      'Signs that members of another sovereign are recognised here, within a scope and for a time. To check the ' +
      'other side first, use federation bootstrap.',
    arguments: [{ name: 'sovereign', summary: 'Id of the other sovereign, its network name.', required: true }],
    options: [
      {
        flags: '--key <key>',
        summary: 'Key that may sign for it: a .pub file or base64.',
        repeatable: true,
        required: true,
      },
      ...SCOPE_OPTIONS,
      { flags: '--validity-hours <n>', summary: 'How long it holds, 1 to 26280.', default: '168' },
      { flags: '--metadata <name=value>', summary: 'A text for readers of the treaty.', repeatable: true },
    ],
    examples: [
      {
        line: 'chancery treaty issue PARTNER-NET --key partner-na.pub --role role:client --validity-hours 720',
        summary: 'Accepts its clients for 30 days.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'renew'],
    summary: 'Renew a treaty',
    description: 'Issues the same treaty anew, then ends the old one as renewed. Recognition is never interrupted.',
    arguments: [ID],
    options: [{ flags: '--validity-hours <n>', summary: 'How long the new one holds; else as long as the old one.' }],
    examples: [
      { line: 'chancery treaty renew 73ea7100-0000-4000-8000-000000000001', summary: 'For the same time again.' },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'replace'],
    summary: 'Replace a treaty',
    description:
      'Issues a treaty with other keys, another scope or another time for the same sovereign, then ends the old one ' +
      'as replaced. What is not given stays as it was.',
    arguments: [ID],
    options: [
      { flags: '--key <key>', summary: 'Keys that may sign for it from now on.', repeatable: true },
      { flags: '--role <role>', summary: 'Roles accepted from now on.', repeatable: true },
      { flags: '--accept-status <word>', summary: 'Statuses accepted from now on.', repeatable: true },
      { flags: '--validity-hours <n>', summary: 'How long the new one holds; else as long as the old one.' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery treaty replace 73ea7100-0000-4000-8000-000000000001 --key partner-na-2.pub',
        summary: 'After the other side changed its key.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'revoke'],
    summary: 'End a treaty',
    description: 'Ends the recognition of another sovereign at once; its members are no longer accepted here.',
    arguments: [ID],
    options: [
      { flags: '--reason <text>', summary: 'Why, for everybody to read.', default: 'unspecified' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery treaty revoke 73ea7100-0000-4000-8000-000000000001 --dry-run',
        summary: 'Only shows what would be lost.',
      },
      {
        line: 'chancery treaty revoke 73ea7100-0000-4000-8000-000000000001 --reason relationship-ended',
        summary: 'Shows it, asks, then ends the treaty.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['treaty', 'list'],
    summary: 'List treaties',
    description: 'Lists the treaties of this authority with their state, oldest first.',
    arguments: [],
    options: [
      { flags: '--subject <id>', summary: 'Only those that recognise this sovereign.' },
      { flags: '--status <word>', summary: 'Only those with this status.', choices: ['active', 'revoked'] },
      ...LIST_OPTIONS,
    ],
    examples: [{ line: 'chancery treaty list --status active', summary: 'Who is recognised, and until when.' }],
    needs: 'nothing',
  },
  {
    path: ['treaty', 'inspect'],
    summary: 'Show and check a treaty',
    description: 'Prints a treaty and says whether it holds. Exits with a failure when it does not.',
    arguments: [{ name: 'treaty', summary: 'Id of a treaty, or a .json file.', required: true }],
    options: [
      {
        flags: '--issuer-key <key>',
        summary: 'Key of the issuer of a foreign treaty: a .pub file or base64.',
        repeatable: true,
      },
    ],
    examples: [
      { line: 'chancery treaty inspect 73ea7100-0000-4000-8000-000000000001', summary: 'One of this authority.' },
      { line: 'chancery treaty inspect theirs.json --issuer-key partner-na.pub', summary: 'One of another sovereign.' },
    ],
    needs: 'nothing',
  },
]
