import type { Command } from './command.ts'

export const disclosureCommands: readonly Command[] = [
  {
    path: ['disclose', 'commit'],
    summary: 'Commit to capabilities of an agreement',
    description:
      'Signs a Merkle root over salted names of agreed capabilities: you can later prove one capability, while the others, their order and their exact number stay hidden. The seed of the salts is secret and needed for every proof; --out writes it to a second file with .seed appended, and the authority does not store it. Give verifiers the commitment only: with the seed the hidden names can be guessed.',
    arguments: [{ name: 'agreement', summary: 'JSON file with the agreement record', required: true }],
    options: [
      {
        flags: '--capability <name>',
        summary: 'Capability to commit to; default: all agreed capabilities',
        repeatable: true,
      },
      {
        flags: '--unsalted',
        summary: 'The form that older networks read; hidden names can be guessed from it',
      },
      { flags: '--out <file>', summary: 'Write the signed commitment to a new file, and its seed next to it' },
    ],
    examples: [
      {
        line: 'chancery disclose commit agreement.json --out commitment.json',
        summary: 'Commit to all agreed capabilities; the seed is in commitment.json.seed',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['disclose', 'prove'],
    summary: 'Prove one capability of a commitment',
    description:
      'Builds the proof on this machine and sends nothing. The command needs the complete list of the commitment and, for a salted one, its seed. The proof has the salt of the revealed capability only.',
    arguments: [{ name: 'commitment', summary: 'JSON file with the commitment', required: true }],
    options: [
      { flags: '--reveal <name>', summary: 'Capability to reveal', required: true },
      {
        flags: '--capability <name>',
        summary: 'Every capability of the list, including the revealed one',
        repeatable: true,
        required: true,
      },
      { flags: '--prover <id>', summary: 'Network that presents the proof', required: true },
      {
        flags: '--seed <file>',
        summary: 'File with the seed; default: the file of the commitment with .seed appended',
      },
      { flags: '--out <file>', summary: 'Write the proof to a new file' },
    ],
    examples: [
      {
        line: 'chancery disclose prove commitment.json --reveal ledger.read --capability ledger.read --capability ledger.append --prover PARTNER-NET',
        summary: 'Reveal ledger.read, hide ledger.append',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['disclose', 'verify'],
    summary: 'Verify the proof of a capability',
    description:
      'Reports whether a proof shows a capability of a commitment, and warns when hidden names can be guessed (unsalted). Exit code 1 if the proof is not valid. To verify offline, use chancery verify.',
    arguments: [{ name: 'proof', summary: 'JSON file with the proof', required: true }],
    options: [
      { flags: '--commitment <file>', summary: 'JSON file with the commitment', required: true },
      {
        flags: '--issuer-key <key>',
        summary: 'Key of the issuer: a .pub file or base64; default: the key of the authority',
        repeatable: true,
      },
    ],
    examples: [
      {
        line: 'chancery disclose verify proof.json --commitment commitment.json --issuer-key partner.pub',
        summary: 'Verify with a commitment of a partner network',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['disclose', 'nullify'],
    summary: 'Mark a proof for single use',
    description:
      'Signs a nullifier that is valid for one minute. A verifier that stores the nullifier accepts the proof only once.',
    arguments: [{ name: 'proof', summary: 'JSON file with the proof', required: true }],
    options: [{ flags: '--out <file>', summary: 'Write the signed nullifier to a new file' }],
    examples: [
      {
        line: 'chancery disclose nullify proof.json --out mark.json',
        summary: 'Write the nullifier; send it with the proof',
      },
    ],
    needs: 'operator',
  },
]
