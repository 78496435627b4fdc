import type { Command } from './command.ts'

export const consensusCommands: readonly Command[] = [
  {
    path: ['consensus', 'vote'],
    summary: 'Vote on a justification',
    description: 'Has the authority sign its vote on a justification proof it issued itself.',
    arguments: [
      { name: 'justification', summary: 'JSON file with the justification proof.', required: true },
      { name: 'vote', summary: 'How it votes.', required: true, choices: ['approve', 'reject'] },
    ],
    options: [
      { flags: '--reason <text>', summary: 'Why, for those who read the vote.' },
      { flags: '--out <file>', summary: 'Write the signed vote to a new file.' },
    ],
    examples: [
      { line: 'chancery consensus vote justification.json approve --out vote.json', summary: 'For the assembler.' },
    ],
    needs: 'operator',
  },
  {
    path: ['consensus', 'assemble'],
    summary: 'Assemble a consensus proof',
    description:
      'Has the authority sign collected votes when enough distinct validators approve and the votes do not look like ' +
      'copies of one another. Signatures of other validators are checked by whoever verifies the proof.',
    arguments: [
      { name: 'justification', summary: 'JSON file with the justification proof.', required: true },
      { name: 'votes', summary: 'JSON files with the votes.', required: true, variadic: true },
    ],
    options: [
      { flags: '--threshold <n>', summary: 'How many distinct validators must approve.', required: true },
      { flags: '--validator <id>', summary: 'A sovereign whose vote counts.', repeatable: true, required: true },
      { flags: '--out <file>', summary: 'Write the signed proof to a new file.' },
    ],
    examples: [
      {
        line: 'chancery consensus assemble justification.json vote-1.json vote-2.json --threshold 2 --validator A-NET --validator B-NET --validator C-NET',
        summary: 'Two of three.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['consensus', 'verify'],
    summary: 'Verify a consensus proof',
    description:
      'Says whether enough independent validators approved, under the keys you know them by. Exits with a failure when ' +
      'they did not. Without a network: chancery verify.',
    arguments: [{ name: 'proof', summary: 'JSON file with the consensus proof.', required: true }],
    options: [
      {
        flags: '--validator-key <id=key>',
        summary: 'Key of a validator: a .pub file or base64.',
        repeatable: true,
        required: true,
      },
      {
        flags: '--assembler-key <key>',
        summary: 'Key of the assembler: a .pub file or base64; else that of the authority.',
        repeatable: true,
      },
    ],
    examples: [
      {
        line: 'chancery consensus verify consensus.json --validator-key A-NET=a.pub --validator-key B-NET=b.pub',
        summary: 'Assembled by the own authority.',
      },
    ],
    needs: 'nothing',
  },
]
