import type { Command } from './command.ts'

export const verifyCommands: readonly Command[] = [
  {
    path: ['verify'],
    summary: 'Verify any signed record, offline',
    description:
      'Recognises a record of this protocol by its members, checks its form, its signature and its time on this ' +
      'machine, and says in words what that proves and what it does not. Exits with a failure unless the record ' +
      'holds. The keys are those you trust: of a saved genesis block, or given one by one.',
    arguments: [{ name: 'file', summary: 'JSON file with the record, as its signer wrote it.', required: true }],
    options: [
      { flags: '--key <key>', summary: 'Key the signer is known by: a .pub file or base64.', repeatable: true },
      {
        flags: '--offerer-key <key>',
        summary: 'Key of the offerer, for an agreement: a .pub file or base64.',
        repeatable: true,
      },
      {
        flags: '--responder-key <key>',
        summary: 'Key of the responder, for an agreement: a .pub file or base64.',
        repeatable: true,
      },
      { flags: '--genesis <file>', summary: 'Genesis block whose authority must have signed.' },
      { flags: '--key-history <file>', summary: 'Keys its authority had before, signed by the same root.' },
      {
        flags: '--validator-key <id=key>',
        summary: 'Key of a validator, for a consensus proof.',
        repeatable: true,
      },
      { flags: '--commitment <file>', summary: 'The commitment, for the proof of a capability.' },
    ],
    examples: [
      { line: 'chancery verify crl.json --genesis genesis.json', summary: 'Signed by the authority of this network?' },
      { line: 'chancery verify treaty.json --key partner.pub --json', summary: 'The verdict for a program.' },
      {
        line: 'chancery verify agreement.json --offerer-key alpha.pub --responder-key beta.pub',
        summary: 'Signed by both parties?',
      },
      {
        line: 'chancery verify proof.json --commitment commitment.json --genesis genesis.json',
        summary: 'The proof of a capability.',
      },
    ],
    needs: 'nothing',
  },
]
