import type { Command, CommandOption } from './command.ts'
import { NODE_HOME_OPTION } from './enrollment.ts'

const PRESENTED_OPTIONS: readonly CommandOption[] = [
  { flags: '--presented <file>', summary: 'Attestation of a partner to use: a JSON file' },
  { flags: '--issuer <sovereign>', summary: 'With --presented: the sovereign that issued it' },
  { flags: '--treaty <id>', summary: 'With --presented: the only treaty to consider' },
]

export const boundaryCommands: readonly Command[] = [
  {
    path: ['decide'],
    summary: 'Decide a request on an agreement',
    description:
      'Asks the authority to allow or deny one use of a capability by an agreement alone, without policies. Prints the signed decision. Exit code 1 if the request is denied.',
    arguments: [
      { name: 'agreement', summary: 'JSON file with the agreement', required: true },
      { name: 'capability', summary: 'Requested capability', required: true },
    ],
    options: [
      { flags: '--context <file>', summary: 'JSON file with the context of the request' },
      { flags: '--out <file>', summary: 'Write the signed decision to a new file' },
    ],
    examples: [
      {
        line: 'chancery decide agreement.json ledger.read --out decision.json',
        summary: 'Write a decision that is valid for five minutes',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['evaluate'],
    summary: 'Decide a request under the policies',
    description:
      'Asks the authority to allow or deny one use of a capability under the active boundary policies. Prints the signed decision with the result of every gate. Exit code 1 if the request is denied.',
    arguments: [{ name: 'capability', summary: 'Requested capability', required: true }],
    options: [
      { flags: '--agreement <file>', summary: 'Agreement to use: a JSON file' },
      { flags: '--attestation <id|file>', summary: 'Attestation of this network to use: its id or its file' },
      ...PRESENTED_OPTIONS,
      { flags: '--context <file>', summary: 'JSON or YAML file with the context of the request' },
      { flags: '--out <file>', summary: 'Write decision and justification to a new file, for chancery verify' },
    ],
    examples: [
      {
        line: 'chancery evaluate secret.rotate --attestation a77e57a7-0000-4000-8000-000000000001 --context ask.yaml',
        summary: 'Decide a request of a member',
      },
      {
        line: 'chancery evaluate ledger.read --presented member.json --issuer BETA',
        summary: 'Decide a request of a member of a partner',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['ask'],
    summary: 'Ask for a decision with a node key',
    description:
      'Asks the authority to allow or deny one use of a capability, and verifies the decision. The node signs the request with its own key, so no operator key is needed. Exit code 1 if the request is denied, 2 if there is no decision, 3 if a person must approve it first.',
    arguments: [{ name: 'capability', summary: 'Requested capability', required: true }],
    options: [
      NODE_HOME_OPTION,
      { flags: '--attestation <id|file>', summary: 'Attestation of this node key: its id or its file' },
      { flags: '--key <file>', summary: 'Key of a member of a partner, which has no certificate here' },
      {
        flags: '--genesis <file>',
        summary: 'With --key: genesis block of the asked network; default: the configured one',
      },
      ...PRESENTED_OPTIONS,
      { flags: '--context <file>', summary: 'JSON or YAML file with the context of the request' },
      { flags: '--resource <id>', summary: 'Also get the newest evidence record of this resource' },
      { flags: '--approval <id>', summary: 'Use this approval of the same request' },
      { flags: '--wait <seconds>', summary: 'When a person must approve it, wait so long and ask again' },
      { flags: '--out <file>', summary: 'Write decision, justification and context to a new file' },
    ],
    examples: [
      {
        line: 'chancery ask ledger.read --home ./node --attestation a77e57a7-0000-4000-8000-000000000001',
        summary: 'Ask for a decision on the attestation of this node',
      },
      {
        line: 'chancery ask ledger.read --key member.key --presented member.json --issuer BETA --url https://na.alpha.example --genesis alpha-genesis.json',
        summary: 'Ask the authority of a partner',
      },
    ],
    needs: 'node',
  },
]
