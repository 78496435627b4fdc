import type { Command } from './command.ts'

export const feedCommands: readonly Command[] = [
  {
    path: ['feed', 'export'],
    summary: 'Export the revocation feed',
    description: 'Prints the signed list of attestations this network revoked, for other sovereigns to import.',
    arguments: [],
    options: [{ flags: '--out <file>', summary: 'Write the feed to a new file.' }],
    examples: [{ line: 'chancery feed export --out feed.json', summary: 'To be carried over by hand.' }],
    needs: 'nothing',
  },
  {
    path: ['feed', 'import'],
    summary: 'Import a revocation feed',
    description:
      'Takes over what another sovereign revoked. Its key is the one of an active treaty, or one you vouch for. What ' +
      'was imported once stays revoked here. Exits with 0 when the authority has this feed already.',
    arguments: [
      { name: 'feed', summary: 'JSON file with the feed, or the address of the other authority.', required: true },
    ],
    options: [
      { flags: '--issuer <id>', summary: 'Sovereign the feed must be of.' },
      {
        flags: '--issuer-key <key>',
        summary: 'Key you vouch for: a .pub file or base64.',
        repeatable: true,
      },
      { flags: '--accept-sequence-jump', summary: 'Take a feed that is more than a million ahead of the last one.' },
    ],
    examples: [
      { line: 'chancery feed import https://na.partner.example', summary: 'Fetched there, checked with the treaty.' },
      { line: 'chancery feed import feed.json --issuer PARTNER-NET', summary: 'From a file.' },
    ],
    needs: 'operator',
  },
]
