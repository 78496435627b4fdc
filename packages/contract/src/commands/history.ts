import type { Command } from './command.ts'

export const historyCommands: readonly Command[] = [
  {
    path: ['trusted'],
    summary: 'Show whether a record was trusted at a past time',
    description:
      'Asks the authority for the stored history of a certificate, attestation or treaty, and verifies its signed records on this machine with the genesis block that you trust. With --offline no request is sent. Exit code 0 if it was trusted, 1 if not, 2 if unknown because history was removed or lost.',
    arguments: [
      {
        name: 'record',
        summary: 'Id of the record, or a .json file with it; a file for an attestation of a partner',
        required: true,
      },
    ],
    options: [
      { flags: '--at <time>', summary: 'The past time (ISO 8601)', required: true },
      {
        flags: '--kind <kind>',
        summary: 'Kind of the record, if the id is given',
        choices: ['certificate', 'attestation', 'treaty'],
      },
      {
        flags: '--offline <file>',
        summary: 'Saved answer, archive or evidence pack instead of the authority',
      },
      { flags: '--genesis <file>', summary: 'Genesis block that you trust; default: the configured one' },
      {
        flags: '--key-history <file>',
        summary: 'Former keys of the authority, for a file from before the trusted block',
      },
      { flags: '--list <file>', summary: 'Revocation list of that time, from another source', repeatable: true },
      {
        flags: '--feed <file>',
        summary: 'Revocation feed of that time, of the authority or a partner',
        repeatable: true,
      },
      { flags: '--out <file>', summary: 'New file for the signed records of the answer, for --offline' },
    ],
    examples: [
      {
        line: 'chancery trusted 7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6 --at 2026-07-01T12:00:00Z',
        summary: 'Ask about a certificate, attestation or treaty by its id',
      },
      {
        line: 'chancery trusted member.json --at 2026-07-01T12:00:00Z --out answer.jsonl',
        summary: "Ask about a partner's attestation, and save the proof",
      },
      {
        line: 'chancery trusted member.json --at 2026-07-01T12:00:00Z --offline answer.jsonl --genesis genesis.json',
        summary: 'Verify saved records without a network',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['trusted', 'archive'],
    summary: 'Write an archive of the trust history',
    description:
      'Writes signed pages about all stored certificates, attestations, treaties and imported revocations into one file. chancery trusted --offline answers from it after the authority has removed the rows. The file names members, so only its owner can read it.',
    arguments: [],
    options: [{ flags: '--out <file>', summary: 'New file', required: true }],
    examples: [{ line: 'chancery trusted archive --out history-2026-07.jsonl', summary: 'Write an archive' }],
    needs: 'operator',
  },
]
