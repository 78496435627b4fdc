import type { Command } from './command.ts'
import { REVOKING_OPTIONS } from './revoking.ts'

export const operatorCommands: readonly Command[] = [
  {
    path: ['operator', 'revoke'],
    summary: 'Revoke an operator key',
    description:
      'Shows what the key did and ends it for good. At a terminal it offers to withdraw the invites the key made. The ' +
      'last usable key cannot be revoked, the last privileged one only with --force.',
    arguments: [{ name: 'key_id', summary: 'Id of the key to revoke.', required: true }],
    options: [
      { flags: '--reason <text>', summary: 'Why, for the audit trail.', default: 'unspecified' },
      {
        flags: '--force',
        summary: 'Also the last privileged key; needs --reason. Nothing can be withdrawn until another is configured.',
      },
      { flags: '--withdraw-invites', summary: 'Also end the invites it made that can still be used.' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery operator revoke ops-2 --reason left-the-team',
        summary: 'Shows what follows, asks, then revokes.',
      },
      {
        line: 'chancery operator revoke ops-1 --force --reason "laptop stolen"',
        summary: 'The last privileged key.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['operator', 'activity'],
    summary: 'Show what an operator key did',
    description: 'Counts the audit events of an operator key by type over a time, before or after it is revoked.',
    arguments: [{ name: 'key_id', summary: 'Id of the key.', required: true }],
    options: [{ flags: '--days <n>', summary: 'How far to look back, 1 to 3650.', default: '30' }],
    examples: [{ line: 'chancery operator activity ops-2 --days 90', summary: 'The last 90 days.' }],
    needs: 'operator',
  },
]
