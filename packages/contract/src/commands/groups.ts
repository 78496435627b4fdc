/** A heading of a help screen, and the words below it. */
type Heading = readonly [title: string, words: string]

/** The help of the program: every first word once. A test compares it with COMMANDS. */
export const ROOT_HEADINGS: readonly Heading[] = [
  ['Start here', 'demo init up down status logs use'],
  ['Members of a network', 'join invite node agent attestation'],
  ['Other networks', 'partner treaty agreement'],
  ['Decisions and evidence', 'ask approval budget policy evidence verify record'],
  ['Services', 'authority gateway operator genesis keygen doctor settings'],
  ['Other', 'completion help'],
]

interface Group {
  /** In the help of the program. */
  readonly summary: string
  /** In the help of the group. */
  readonly description: string
  /** Names below the group, once each. */
  readonly headings: readonly Heading[]
  readonly more?: string
}

/** Words that only group commands. A test compares them with COMMANDS. */
export const COMMAND_GROUPS: Readonly<Record<string, Group>> = {
  invite: {
    summary: 'Create invites and admission rules',
    description: 'Let nodes join: with a one-time invite, or by a rule for a platform.',
    headings: [
      ['Invites', 'create, list, withdraw'],
      ['Rules', 'rule add, rule test'],
    ],
    more: 'On the machine of the node: chancery join',
  },
  node: {
    summary: 'Run, list, call with and revoke nodes',
    description: 'Work with nodes, the members of a network.',
    headings: [
      ['On the machine of a node', 'run, renew, call'],
      ['As operator', 'list, show, label, revoke'],
    ],
  },
  agent: {
    summary: 'Register agents, guard MCP servers',
    description: 'Publish what the agent of a node can do, and control its tools.',
    headings: [
      ['Registry', 'register, list, remove'],
      ['Cards and tools', 'sign-card, guard-mcp'],
    ],
  },
  attestation: {
    summary: 'State what a node key may do',
    description: 'Sign statements about members, which decisions are based on.',
    headings: [['Attestations', 'issue, list, revoke']],
  },
  partner: {
    summary: 'Inspect, add and follow other networks',
    description: 'Read what other networks publish.',
    headings: [
      ['Before', 'inspect'],
      ['Follow', 'add, list, show, set, pull, remove'],
      ['Without a connection', 'export-feed, import-feed'],
    ],
  },
  treaty: {
    summary: 'Accept members of another network',
    description: 'Recognise members of other networks, for a limited time.',
    headings: [['Treaties', 'issue, list, show, renew, revoke']],
  },
  agreement: {
    summary: 'Negotiate capabilities with another network',
    description: 'Agree on capabilities that both networks sign.',
    headings: [['In this order', 'offer, counter, accept, cosign']],
    more: 'To check one, use: chancery verify agreement.json',
  },
  approval: {
    summary: 'Approve or deny what waits for a person',
    description: 'Decide about requests that wait for a person.',
    headings: [
      ['Read', 'list, show'],
      ['Decide', 'approve, deny'],
    ],
  },
  budget: {
    summary: 'Show what is used of limits over requests',
    description: 'Show what is used of limits over many requests.',
    headings: [['Budgets', 'list, show']],
  },
  policy: {
    summary: 'Write, test and activate policies',
    description:
      'Write, test and activate policies. Kinds: boundary (decisions), network\n(limits of nodes), recognition (foreign attestations), license (data).',
    headings: [
      ['Write', 'new, test'],
      ['Use', 'publish, activate, deactivate'],
      ['Read', 'list, show'],
    ],
    more: 'Try before you publish: chancery policy publish policy.yaml --dry-run',
  },
  evidence: {
    summary: 'List, export and prove decisions',
    description: 'List, export and prove decisions.',
    headings: [
      ['Read', 'list, show'],
      ['Send', 'submit'],
      ['Hand over', 'pack, receipt, export'],
      ['Keep', 'anchor, prune, witness, witnesses'],
      ['Keys of executors', 'key add, key list, key retire'],
    ],
    more: 'To check a file, use: chancery verify evidence.jsonl',
  },
  record: {
    summary: 'Work with single signed records',
    description: 'Work with single signed records.',
    headings: [
      ['Read', 'canonical, history'],
      ['Capabilities', 'commit, prove'],
      ['Votes', 'vote, tally'],
    ],
  },
  authority: {
    summary: 'Run, back up and restore an authority',
    description: 'Run and maintain an authority, on its host.',
    headings: [
      ['Run', 'start, verify, migrate, watch'],
      ['Copies', 'backup, restore, recover'],
      ['Keys and lists', 'rotate-key, resign-lists'],
      ['Audit log', 'audit'],
    ],
    more: 'Start, stop and state: chancery up, down, status, logs, doctor',
  },
  gateway: {
    summary: 'Run a gateway next to a service',
    description: 'Run a gateway next to a service.',
    headings: [
      ['Run', 'init, start, backup'],
      ['Configure', 'network add, network refresh, network clear, client add, enable'],
      ['Access tokens', 'token, token-key new, token-key list, token-key pem, resource-metadata'],
      ['Use', 'ask, audit'],
    ],
    more: 'Start, stop and state: chancery up, down, status, logs, doctor',
  },
  operator: {
    summary: 'Add and revoke operator keys',
    description: 'Manage the operator keys of an authority.',
    headings: [['Operators', 'add, list, remove, revoke']],
  },
  genesis: {
    summary: 'Create and sign genesis blocks',
    description: 'Create and sign the blocks that pin a network.',
    headings: [
      ['On the machine of the root key', 'create, sign, succeed'],
      ['Elsewhere', 'fetch'],
    ],
  },
}
