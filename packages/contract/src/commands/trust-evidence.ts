import type { Command } from './command.ts'

export const trustEvidenceCommands: readonly Command[] = [
  {
    path: ['trust-evidence', 'build'],
    summary: 'Sign a trust decision',
    description: 'Signs a trust decision about a network, with the digest of the recognition graph.',
    arguments: [{ name: 'decision', summary: 'JSON file with the trust decision', required: true }],
    options: [
      { flags: '--graph-digest <sha256>', summary: 'Digest of the graph; default: the current graph' },
      { flags: '--out <file>', summary: 'Write the signed record to a new file' },
    ],
    examples: [
      { line: 'chancery trust-evidence build found.json --out evidence.json', summary: 'Sign with the current graph' },
    ],
    needs: 'operator',
  },
  {
    path: ['trust-evidence', 'verify'],
    summary: 'Verify trust evidence',
    description: 'Verifies the signature of trust evidence. Exit code 1 if it is not valid.',
    arguments: [{ name: 'file', summary: 'JSON file with the evidence', required: true }],
    options: [
      {
        flags: '--issuer-key <key>',
        summary: 'Key of the issuer: a .pub file or base64; default: the key of the authority',
        repeatable: true,
      },
      { flags: '--graph-digest <sha256>', summary: 'Required digest of the graph' },
    ],
    examples: [
      {
        line: 'chancery trust-evidence verify evidence.json --issuer-key partner.pub',
        summary: 'Verify evidence of a partner network',
      },
    ],
    needs: 'nothing',
  },
]
