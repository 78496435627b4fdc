import type { Command } from './command.ts'

export const disclosureCommands: readonly Command[] = [
  {
    path: ['disclose', 'commit'],
    summary: 'Commit to capabilities of an agreement',
    description:
      'Has the authority sign a Merkle root over agreed capabilities. The root shows none of them; their holder can ' +
      'later prove one without the others.',
    arguments: [{ name: 'agreement', summary: 'JSON file with the agreement record.', required: true }],
    options: [
      { flags: '--capability <name>', summary: 'One to commit to; all agreed ones without it.', repeatable: true },
      { flags: '--out <file>', summary: 'Write the signed commitment to a new file.' },
    ],
    examples: [
      { line: 'chancery disclose commit agreement.json --out commitment.json', summary: 'To everything agreed.' },
    ],
    needs: 'operator',
  },
  {
    path: ['disclose', 'prove'],
    summary: 'Prove one capability of a commitment',
    description:
      'Builds the proof on this machine: the capabilities that stay hidden are sent to nobody. The whole list the ' +
      'commitment was made over is needed.',
    arguments: [{ name: 'commitment', summary: 'JSON file with the commitment.', required: true }],
    options: [
      { flags: '--reveal <name>', summary: 'The capability to show.', required: true },
      {
        flags: '--capability <name>',
        summary: 'Every capability of the list, the shown one included.',
        repeatable: true,
        required: true,
      },
      { flags: '--prover <id>', summary: 'Sovereign that shows the proof.', required: true },
      { flags: '--out <file>', summary: 'Write the proof to a new file.' },
    ],
    examples: [
      {
        line: 'chancery disclose prove commitment.json --reveal ledger.read --capability ledger.read --capability ledger.append --prover PARTNER-NET',
        summary: 'Shows ledger.read, hides ledger.append.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['disclose', 'verify'],
    summary: 'Verify the proof of a capability',
    description:
      'Says whether a proof shows a capability of a commitment. Exits with a failure when it does not. Without a ' +
      'network: chancery verify.',
    arguments: [{ name: 'proof', summary: 'JSON file with the proof.', required: true }],
    options: [
      { flags: '--commitment <file>', summary: 'JSON file with the commitment.', required: true },
      {
        flags: '--issuer-key <key>',
        summary: 'Key of its issuer: a .pub file or base64; else that of the authority.',
        repeatable: true,
      },
    ],
    examples: [
      {
        line: 'chancery disclose verify proof.json --commitment commitment.json --issuer-key partner.pub',
        summary: 'A commitment of another sovereign.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['disclose', 'nullify'],
    summary: 'Mark a proof for single use',
    description:
      'Has the authority sign a mark that lives for a minute. A verifier that remembers it takes the proof only once.',
    arguments: [{ name: 'proof', summary: 'JSON file with the proof.', required: true }],
    options: [{ flags: '--out <file>', summary: 'Write the signed mark to a new file.' }],
    examples: [{ line: 'chancery disclose nullify proof.json --out mark.json', summary: 'Send both together.' }],
    needs: 'operator',
  },
]
