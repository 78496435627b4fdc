import { OPERATOR_TIERS } from '../operators-file.ts'
import { type Command, type CommandOption, REVOKING_OPTIONS } from './command.ts'

const FILE_OPTION: CommandOption = {
  flags: '--file <file>',
  summary: 'Operators file of the authority; default: operators.json in its home folder',
}

export const operatorCommands: readonly Command[] = [
  {
    path: ['operator', 'list'],
    summary: 'List the operators of an authority',
    description:
      'Lists the operators file of an authority, on its host. --check also asks the authority which of the keys are revoked, with the configured operator key.',
    arguments: [],
    options: [FILE_OPTION, { flags: '--check', summary: 'Ask the authority for the state of each key' }],
    examples: [
      { line: 'chancery operator list', summary: 'List key ids, tiers and public keys' },
      { line: 'chancery operator list --check', summary: 'Show revoked keys, too' },
    ],
    needs: 'authority-host',
  },
  {
    path: ['operator', 'add'],
    summary: 'Add an operator',
    description:
      'Adds a public key to the operators file of an authority, on its host. A running authority accepts the key from its next request on and writes an audit event. A key id that was revoked stays refused.',
    arguments: [{ name: 'key_id', summary: 'New id of the key at this authority', required: true }],
    options: [
      { flags: '--key <key>', summary: 'Public key of the operator: a .pub file or base64', required: true },
      { flags: '--tier <tier>', summary: 'Rights of the key', choices: OPERATOR_TIERS, default: 'standard' },
      FILE_OPTION,
      { flags: '--again', summary: 'Also add an id or key that was removed before' },
    ],
    examples: [
      { line: 'chancery operator add ops-2 --key ./ops-2.pub', summary: 'Add a standard operator' },
      { line: 'chancery operator add ops-2 --key ./ops-2.pub --tier privileged', summary: 'Add one who may revoke' },
    ],
    needs: 'authority-host',
  },
  {
    path: ['operator', 'remove'],
    summary: 'Remove an operator',
    description:
      'Removes a key from the operators file of an authority, on its host. A running authority refuses the key from its next request on and writes an audit event. Revoke a stolen key first, because only operator revoke is permanent and can withdraw its invites.',
    arguments: [{ name: 'key_id', summary: 'Id of the key', required: true }],
    options: [
      FILE_OPTION,
      { flags: '--force', summary: 'Also remove the last privileged key' },
      { flags: '--yes', summary: 'Do not ask for confirmation' },
    ],
    examples: [{ line: 'chancery operator remove ops-2', summary: 'Ask, then remove' }],
    needs: 'authority-host',
  },
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
      { flags: '--remove-rules', summary: 'Also remove the admission rules that the key added' },
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
