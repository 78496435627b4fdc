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

export const dataUsageCommands: readonly Command[] = [
  {
    path: ['data-usage', 'show'],
    summary: 'Show a data license in force',
    description:
      'Prints the permitted uses of the data of this network: the license of one licensee, or the newest of all. Licenses are public.',
    arguments: [],
    options: [
      { flags: '--licensee <network>', summary: 'The license of this network; default: the newest of all' },
      { flags: '--out <file>', summary: 'Write the signed policy to a new file' },
    ],
    examples: [
      { line: 'chancery data-usage show --licensee BOLT-NET', summary: 'Show the license in force for BOLT-NET' },
    ],
    needs: 'nothing',
  },
  {
    path: ['data-usage', 'policy'],
    summary: 'Publish a data license',
    description:
      'Sends the terms of a data license. The authority signs them. The license replaces the one of the same licensee; those of others stay in force.',
    arguments: [{ name: 'file', summary: 'JSON file with the terms', required: true }],
    options: [{ flags: '--out <file>', summary: 'Write the signed policy to a new file' }],
    examples: [{ line: 'chancery data-usage policy license.json', summary: 'Publish the license and print it' }],
    needs: 'operator',
  },
  {
    path: ['data-usage', 'intent'],
    summary: 'Declare a use of data',
    description: 'Signs which data sources will be used and how. An intent is valid for five minutes.',
    arguments: [{ name: 'file', summary: 'JSON file with sources and access_types', required: true }],
    options: [{ flags: '--out <file>', summary: 'Write the signed intent to a new file' }],
    examples: [
      { line: 'chancery data-usage intent use.json --out intent.json', summary: 'Write an intent for the licensor' },
    ],
    needs: 'operator',
  },
  {
    path: ['data-usage', 'verify'],
    summary: 'Verify a declared use of data',
    description:
      'Lists the uses in an intent that the license does not allow. Exit code 1 if there are any. With --record, as an operator, they are also stored as an entry of the evidence store.',
    arguments: [{ name: 'intent', summary: 'JSON file with the intent', required: true }],
    options: [
      { flags: '--policy <file>', summary: 'JSON file with the license; default: that of --licensee' },
      { flags: '--licensee <network>', summary: 'The license of this network; default: the newest of all' },
      {
        flags: '--agent-key <key>',
        summary: 'Key of the agent: a .pub file or base64; default: the key of the authority',
        repeatable: true,
      },
      { flags: '--licensor-key <key>', summary: 'Key that must have signed the license', repeatable: true },
      { flags: '--record', summary: 'Store violations as an entry of the evidence store' },
    ],
    examples: [
      {
        line: 'chancery data-usage verify intent.json --agent-key agent.pub',
        summary: 'Verify with the newest license of the authority',
      },
    ],
    needs: 'nothing',
  },
]
