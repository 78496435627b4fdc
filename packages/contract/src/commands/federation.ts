import type { Command, CommandOption } from './command.ts'

const PIN_OPTIONS: readonly CommandOption[] = [
  { flags: '--root-key <key>', summary: 'Root key the other sovereign must have: a .pub file or base64.' },
  {
    flags: '--genesis <pin>',
    summary: 'Genesis block it must have: a file, or its fingerprint sha256:<hex>.',
  },
]

export const federationCommands: readonly Command[] = [
  {
    path: ['sovereign', 'inspect'],
    summary: 'Look at another sovereign',
    description:
      'Fetches what an authority says of itself and its genesis block, and checks one against the other. Exits with a ' +
      'failure when they do not fit.',
    arguments: [{ name: 'address', summary: 'Base address of the other authority.', required: true }],
    options: PIN_OPTIONS,
    examples: [
      { line: 'chancery sovereign inspect https://na.partner.example', summary: 'Who answers there.' },
      {
        line: 'chancery sovereign inspect https://na.partner.example --root-key partner-root.pub',
        summary: 'Whether it is the one with this root key.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['trust', 'path'],
    summary: 'Show how one sovereign knows another',
    description:
      'Draws the shortest chain of active treaties. It explains the graph and makes nothing transitive: a member is ' +
      'accepted on one direct treaty only. Exits with a failure when there is no path.',
    arguments: [
      { name: 'from', summary: 'Id of the sovereign that recognises.', required: true },
      { name: 'to', summary: 'Id of the sovereign that is recognised.', required: true },
    ],
    options: [],
    examples: [
      { line: 'chancery trust path EXAMPLE-NET PARTNER-NET', summary: 'A line of hops, or why there is none.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['federation', 'bootstrap'],
    summary: 'Review another sovereign and recognise it',
    description:
      'Fetches the genesis block of another sovereign, checks it against the pin you give, shows what would be ' +
      'trusted, asks, and issues the treaty at the own authority.',
    arguments: [{ name: 'address', summary: 'Base address of the other authority.', required: true }],
    options: [
      ...PIN_OPTIONS,
      {
        flags: '--trust-first-use',
        summary: 'Believe whoever answers at this address now; use it only when nobody can tell you the root key.',
      },
      { flags: '--role <role>', summary: 'Role accepted from its members.', repeatable: true, required: true },
      { flags: '--validity-hours <n>', summary: 'How long the treaty holds, 1 to 26280.', default: '168' },
      { flags: '--dry-run', summary: 'Only show what would be trusted.' },
      { flags: '--yes', summary: 'Do not ask before acting.' },
    ],
    examples: [
      {
        line: 'chancery federation bootstrap https://na.partner.example --root-key partner-root.pub --role role:client',
        summary: 'Shows, asks, then issues the treaty.',
      },
    ],
    needs: 'operator',
  },
]
