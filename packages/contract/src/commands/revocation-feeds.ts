import type { Command } from './command.ts'

export const feedCommands: readonly Command[] = [
  {
    path: ['feed', 'status'],
    summary: 'Show the own and the imported revocation feeds',
    description:
      'Prints sequence, age and size of the own revocation feed, and the newest imported feed of each partner network with its age. An imported feed is complete when all revocations of the issuer up to its sequence are imported.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery feed status', summary: 'Show all feeds' }],
    needs: 'nothing',
  },
  {
    path: ['feed', 'export'],
    summary: 'Export the revocation feed',
    description: 'Prints the signed list of revoked attestations of this network, for partner networks to import.',
    arguments: [],
    options: [{ flags: '--out <file>', summary: 'Write the feed to a new file' }],
    examples: [{ line: 'chancery feed export --out feed.json', summary: 'Write the feed to a file' }],
    needs: 'nothing',
  },
  {
    path: ['feed', 'import'],
    summary: 'Import a revocation feed',
    description:
      'Imports the revocations of a partner network, verified with the keys of an active treaty or with a given key; a large feed of an address is imported in parts. Imported revocations are permanent. Exit code 0 also if the authority already has this feed.',
    arguments: [
      { name: 'feed', summary: 'JSON file with the feed, or the URL of the other authority', required: true },
    ],
    options: [
      { flags: '--issuer <id>', summary: 'Network that must have issued the feed' },
      {
        flags: '--issuer-key <key>',
        summary: 'Key of the issuer that you trust: a .pub file or base64',
        repeatable: true,
      },
      {
        flags: '--accept-sequence-jump',
        summary: 'Accept a feed whose sequence is over a million higher than the last one',
      },
    ],
    examples: [
      {
        line: 'chancery feed import https://na.partner.example',
        summary: 'Fetch the feed and verify it with the treaty',
      },
      { line: 'chancery feed import feed.json --issuer PARTNER-NET', summary: 'Import from a file' },
    ],
    needs: 'operator',
  },
]
