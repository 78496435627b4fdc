import type { Command } from './command.ts'

export const consensusCommands: readonly Command[] = [
  {
    path: ['consensus', 'vote'],
    summary: 'Vote on a justification',
    description:
      'Signs the vote of the authority on a justification proof: its own, or one of another authority that a treaty recognises. With a file that chancery evaluate wrote, the decision is checked, too. To vote with --issuer-key, you need a privileged operator key.',
    arguments: [
      { name: 'justification', summary: 'JSON file with the justification proof', required: true },
      { name: 'vote', summary: 'The vote', required: true, choices: ['approve', 'reject'] },
    ],
    options: [
      {
        flags: '--issuer-key <key>',
        summary: 'Key of the authority that issued the proof: a .pub file or base64',
        repeatable: true,
      },
      { flags: '--decision <file>', summary: 'JSON file with the decision that the proof explains' },
      { flags: '--reason <text>', summary: 'Reason, part of the vote' },
      { flags: '--out <file>', summary: 'Write the signed vote to a new file' },
    ],
    examples: [
      {
        line: 'chancery consensus vote justification.json approve --out vote.json',
        summary: 'Write a vote for the assembler',
      },
      {
        line: 'chancery consensus vote decided.json approve --issuer-key partner-na.pub --out vote.json',
        summary: 'Vote on the decision of another authority',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['consensus', 'assemble'],
    summary: 'Assemble a consensus proof',
    description:
      'Signs collected votes if enough distinct validators approve and the votes are not copies of each other. Votes of validators whose keys the authority does not know are checked by the verifier of the proof.',
    arguments: [
      { name: 'justification', summary: 'JSON file with the justification proof', required: true },
      { name: 'votes', summary: 'JSON files with the votes', required: true, variadic: true },
    ],
    options: [
      { flags: '--threshold <n>', summary: 'Number of distinct validators that must approve', required: true },
      { flags: '--validator <id>', summary: 'Network whose vote counts', repeatable: true, required: true },
      {
        flags: '--validator-key <id=key>',
        summary: 'Key of a validator: a .pub file or base64; default: the keys that the authority knows',
        repeatable: true,
      },
      { flags: '--out <file>', summary: 'Write the signed proof to a new file' },
    ],
    examples: [
      {
        line: 'chancery consensus assemble justification.json vote-1.json vote-2.json --threshold 2 --validator A-NET --validator B-NET --validator C-NET',
        summary: 'Require two of three validators',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['consensus', 'verify'],
    summary: 'Verify a consensus proof',
    description:
      'Reports whether enough independent validators approved, verified with the given keys. Exit code 1 if not. To verify offline, use chancery verify.',
    arguments: [{ name: 'proof', summary: 'JSON file with the consensus proof', required: true }],
    options: [
      {
        flags: '--validator-key <id=key>',
        summary: 'Key of a validator: a .pub file or base64',
        repeatable: true,
        required: true,
      },
      {
        flags: '--assembler-key <key>',
        summary: 'Key of the assembler: a .pub file or base64; default: the key of the authority',
        repeatable: true,
      },
    ],
    examples: [
      {
        line: 'chancery consensus verify consensus.json --validator-key A-NET=a.pub --validator-key B-NET=b.pub',
        summary: 'Verify a proof of this authority',
      },
    ],
    needs: 'nothing',
  },
]
