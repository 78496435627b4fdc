import type { Command } from './command.ts'

export const trustEvidenceCommands: readonly Command[] = [
  {
    path: ['trust-evidence', 'build'],
    summary: 'Sign a trust decision',
    description: 'Signs what was found about a sovereign, together with the digest of the graph it was found in.',
    arguments: [{ name: 'decision', summary: 'JSON file with the trust decision.', required: true }],
    options: [
      { flags: '--graph-digest <sha256>', summary: 'Graph it rests on; the current one when left out.' },
      { flags: '--out <file>', summary: 'Write the signed record to a new file.' },
    ],
    examples: [
      { line: 'chancery trust-evidence build found.json --out evidence.json', summary: 'Over the graph of now.' },
    ],
    needs: 'operator',
  },
  {
    path: ['trust-evidence', 'verify'],
    summary: 'Verify trust evidence',
    description: 'Says whether trust evidence is genuine. Exits with a failure when it is not.',
    arguments: [{ name: 'file', summary: 'JSON file with the evidence.', required: true }],
    options: [
      {
        flags: '--issuer-key <key>',
        summary: 'Key of its issuer: a .pub file or base64; the authority itself when left out.',
        repeatable: true,
      },
      { flags: '--graph-digest <sha256>', summary: 'Graph it must rest on.' },
    ],
    examples: [
      {
        line: 'chancery trust-evidence verify evidence.json --issuer-key partner.pub',
        summary: 'Of another sovereign.',
      },
    ],
    needs: 'nothing',
  },
]
