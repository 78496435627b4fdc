import { type Command, LIST_OPTIONS, YES } from './command.ts'

const APPROVAL = { name: 'approval_id', summary: 'Id of the approval', required: true } as const

export const approvalCommands: readonly Command[] = [
  {
    path: ['approval', 'list'],
    summary: 'List requests that wait for a person',
    description: 'Lists held requests, the oldest first, with what is still needed.',
    arguments: [],
    options: [
      {
        flags: '--state <state>',
        summary: 'Approvals of this state, or all; default: pending',
        choices: ['pending', 'approved', 'denied', 'expired', 'cancelled', 'used', 'all'],
      },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery approval list', summary: 'What waits for a person' },
      { line: 'chancery approval list --state all --json', summary: 'Also what has ended, in JSON' },
    ],
    needs: 'operator',
  },
  {
    path: ['approval', 'show'],
    summary: 'Show a held request',
    description:
      'Verifies the signature of the authority, and prints who asks, for what, with which values, what it uses of budgets, and who has approved.',
    arguments: [APPROVAL],
    options: [],
    examples: [
      {
        line: 'chancery approval show a99c0000-0000-4000-8000-000000000001',
        summary: 'Everything an approver must see',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['approval', 'approve'],
    summary: 'Approve a held request',
    description:
      'Shows the request, asks, and signs the approval with the operator key. It is bound to exactly this request and all its values.',
    arguments: [APPROVAL],
    options: [
      { flags: '--reason <text>', summary: 'Text for the signed record; the asker does not see it' },
      { flags: '--digest <sha256>', summary: 'Digest of the request that was reviewed; any other is not approved' },
      { flags: '--yes', summary: 'Do not ask for confirmation; needs --digest' },
    ],
    examples: [
      { line: 'chancery approval approve a99c0000-0000-4000-8000-000000000001', summary: 'Show it, ask, then approve' },
    ],
    needs: 'operator',
  },
  {
    path: ['approval', 'deny'],
    summary: 'Deny a held request',
    description: 'Signs a denial with the operator key. One denial ends the approval.',
    arguments: [APPROVAL],
    options: [
      { flags: '--reason <text>', summary: 'Text for the signed record; the asker does not see it', required: true },
      YES,
    ],
    examples: [
      {
        line: 'chancery approval deny a99c0000-0000-4000-8000-000000000001 --reason "wrong payee"',
        summary: 'Show it, ask, then deny',
      },
    ],
    needs: 'operator',
  },
]
