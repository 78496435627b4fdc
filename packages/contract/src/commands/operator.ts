import type { Command } from './command.ts'
import { REVOKING_OPTIONS } from './revoking.ts'

export const operatorCommands: readonly Command[] = [
  {
    path: ['operator', 'revoke'],
    summary: 'Revoke an operator key',
    description:
      'Shows the activity of the key and revokes it permanently. On a terminal it offers to withdraw the invites of the key. The last usable key cannot be revoked; the last privileged key needs --force.',
    arguments: [{ name: 'key_id', summary: 'Id of the key to revoke', required: true }],
    options: [
      { flags: '--reason <text>', summary: 'Reason, written to the audit log', default: 'unspecified' },
      {
        flags: '--force',
        summary:
          'Also revoke the last privileged key; needs --reason. No revocation is possible until another one is configured',
      },
      { flags: '--withdraw-invites', summary: 'Also withdraw the open invites of the key' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery operator revoke ops-2 --reason left-the-team',
        summary: 'Show the preview, ask, then revoke',
      },
      {
        line: 'chancery operator revoke ops-1 --force --reason "laptop stolen"',
        summary: 'Revoke the last privileged key',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['operator', 'activity'],
    summary: 'Show the activity of an operator key',
    description: 'Counts the audit events of an operator key by type. The key may be revoked.',
    arguments: [{ name: 'key_id', summary: 'Id of the key', required: true }],
    options: [{ flags: '--days <n>', summary: 'Period in days, 1 to 3650', default: '30' }],
    examples: [{ line: 'chancery operator activity ops-2 --days 90', summary: 'Show the last 90 days' }],
    needs: 'operator',
  },
]
