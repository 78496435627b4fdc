import type { Command, CommandOption } from './command.ts'
import { CAPABILITY_OPTION } from './recognition-treaties.ts'

const PIN_OPTIONS: readonly CommandOption[] = [
  { flags: '--root-key <key>', summary: 'Expected root key of the partner network: a .pub file or base64' },
  {
    flags: '--genesis <pin>',
    summary: 'Expected genesis block: a file or its fingerprint sha256:<hex>',
  },
]

export const federationCommands: readonly Command[] = [
  {
    path: ['sovereign', 'inspect'],
    summary: 'Inspect a partner network',
    description:
      'Fetches the description and the genesis block of an authority and compares them. Exit code 1 if they do not match.',
    arguments: [{ name: 'address', summary: 'Base URL of the other authority', required: true }],
    options: PIN_OPTIONS,
    examples: [
      { line: 'chancery sovereign inspect https://na.partner.example', summary: 'Show which network answers' },
      {
        line: 'chancery sovereign inspect https://na.partner.example --root-key partner-root.pub',
        summary: 'Check that the network has this root key',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['trust', 'path'],
    summary: 'Show the trust path between two networks',
    description:
      'Prints the shortest chain of active treaties. Recognition is not transitive: a member needs one direct treaty. Exit code 1 if there is no path.',
    arguments: [
      { name: 'from', summary: 'Network that recognises', required: true },
      { name: 'to', summary: 'Network that is recognised', required: true },
    ],
    options: [],
    examples: [
      { line: 'chancery trust path EXAMPLE-NET PARTNER-NET', summary: 'Print the path, or why there is none' },
    ],
    needs: 'nothing',
  },
  {
    path: ['federation', 'bootstrap'],
    summary: 'Check a partner network and issue a treaty',
    description:
      'Fetches the genesis block of a partner network, compares it with the given pin, shows the terms, asks, and issues the treaty at your authority. With --partner your authority also reads its published material from then on.',
    arguments: [{ name: 'address', summary: 'Base URL of the other authority', required: true }],
    options: [
      ...PIN_OPTIONS,
      {
        flags: '--trust-first-use',
        summary: 'Accept the network that answers now; use it only if you cannot get the root key another way',
      },
      { flags: '--role <role>', summary: 'Role accepted from its members', repeatable: true, required: true },
      CAPABILITY_OPTION,
      { flags: '--validity-hours <n>', summary: 'Validity of the treaty in hours, 1 to 26280', default: '168' },
      { flags: '--partner', summary: 'Also register it as a partner, pinned by its root key' },
      { flags: '--import-feeds', summary: 'With --partner: import its revocation feed with every pull' },
      { flags: '--dry-run', summary: 'Only show what would be trusted' },
      { flags: '--yes', summary: 'Do not ask for confirmation' },
    ],
    examples: [
      {
        line: 'chancery federation bootstrap https://na.partner.example --root-key partner-root.pub --role role:client',
        summary: 'Show the terms, ask, then issue the treaty',
      },
      {
        line: "chancery federation bootstrap https://na.partner.example --root-key partner-root.pub --role role:client --capability 'ledger.*'",
        summary: 'Also let decisions allow its clients the capabilities of this pattern',
      },
      {
        line: 'chancery federation bootstrap https://na.partner.example --root-key partner-root.pub --role role:client --partner --import-feeds',
        summary: 'Also read its published material and import its revocations',
      },
    ],
    needs: 'operator',
  },
]
