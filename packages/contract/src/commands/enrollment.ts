import { REVOCATION_REASONS } from '@chancery/protocol'
import type { Command, CommandOption } from './command.ts'
import { LIST_OPTIONS, REVOKING_OPTIONS } from './revoking.ts'

/** Of every command that speaks for a node. */
export const NODE_HOME_OPTION: CommandOption = {
  flags: '--home <dir>',
  summary: 'Folder of the node, as join made it; else the configuration names its files.',
}

const VALIDITY_OPTION: CommandOption = {
  flags: '--validity-hours <n>',
  summary: 'How long the certificate should be valid; the invite may allow less.',
}

export const enrollmentCommands: readonly Command[] = [
  {
    path: ['invite'],
    summary: 'Make an invite for a node',
    description: 'Makes a single-use token with which one node may join. The token is a secret and is shown only once.',
    arguments: [],
    options: [
      { flags: '--role <role>', summary: 'Role of the node, for example role:client.', repeatable: true },
      { flags: '--max-validity-hours <n>', summary: 'Longest validity of its certificates.', default: '168' },
      { flags: '--token-expiry-hours <n>', summary: 'How long the token can be used.', default: '24' },
      { flags: '--recipient <key>', summary: 'Only this node key may use it: a .pub file or base64.' },
      { flags: '--out <file>', summary: 'Write the token to a new file that only you can read, and print it nowhere.' },
      {
        flags: '--count <n>',
        summary: 'So many invites for a fleet, 1 to 1000, one token a line in the file of --out.',
      },
      { flags: '--print', summary: 'With --count: print the tokens on the screen instead of writing a file.' },
    ],
    examples: [
      { line: 'chancery invite', summary: 'For any node, with role:client.' },
      {
        line: 'chancery invite --role role:anchor --role role:bridge --recipient ./node.pub --out invite.token',
        summary: 'Two roles, for one node key, kept off the screen.',
      },
      { line: 'chancery invite --count 500 --out fleet.tokens', summary: 'For 500 nodes, all or none.' },
    ],
    needs: 'operator',
  },
  {
    path: ['invite', 'list'],
    summary: 'List invites',
    description:
      'Shows invites by the fingerprints of their tokens, with who made them and what became of them. A token itself ' +
      'cannot be shown again.',
    arguments: [],
    options: [
      {
        flags: '--state <state>',
        summary: 'Which ones.',
        choices: ['open', 'used', 'withdrawn', 'expired', 'all'],
        default: 'open',
      },
      { flags: '--created-by <key_id>', summary: 'Only those of this operator key.' },
      { flags: '--batch <id>', summary: 'Only those of this batch.' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery invite list', summary: 'Those that can still be used.' },
      { line: 'chancery invite list --created-by ops-2 --state all --all', summary: 'Everything one key made.' },
    ],
    needs: 'operator',
  },
  {
    path: ['invite', 'withdraw'],
    summary: 'Withdraw invites',
    description:
      'Ends invites that nobody has used. A standard key ends those it made itself, a privileged key any. Nodes that ' +
      'joined stay: revoke their certificates.',
    arguments: [
      { name: 'fingerprint', summary: 'Fingerprints, as invite list shows them.', required: false, variadic: true },
    ],
    options: [
      { flags: '--created-by <key_id>', summary: 'All open ones of this operator key.' },
      { flags: '--batch <id>', summary: 'All open ones of this batch.' },
      { flags: '--reason <text>', summary: 'Why, for the audit trail.', default: 'unspecified' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      { line: 'chancery invite withdraw 96149fd8297ceb40', summary: 'Shows what follows, asks, then ends it.' },
      { line: 'chancery invite withdraw --created-by ops-2 --yes', summary: 'All that a lost key handed out.' },
    ],
    needs: 'operator',
  },
  {
    path: ['join'],
    summary: 'Join a network',
    description:
      'Trades an invite for a certificate. Makes a node key when the folder has none, and pins the authority by its ' +
      'genesis block. The token is best read from a file or standard input: other users see a command line.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Folder for the key, certificate and genesis block.', required: true },
      { flags: '--token <token>', summary: 'The token itself; it stays in the shell history.' },
      { flags: '--token-file <file>', summary: 'File that holds the token; without it standard input is read.' },
      {
        flags: '--genesis <pin>',
        summary: 'Genesis block the authority must have: a file, or its fingerprint sha256:<hex>.',
      },
      VALIDITY_OPTION,
    ],
    examples: [
      {
        line: 'chancery join --home ./node --url https://na.example.org --genesis genesis.json --token-file invite.token',
        summary: 'Joins exactly this network.',
      },
      {
        line: 'chancery join --home ./node --url https://na.example.org',
        summary: 'Asks for the token and trusts the block it finds; compare the fingerprint it shows.',
      },
    ],
    needs: 'node',
  },
  {
    path: ['status'],
    summary: 'Show how a node stands',
    description:
      'Checks the own certificate, the revocation list, the authority and the clock, and says what to do next. Exits ' +
      'with a failure when something must be done.',
    arguments: [],
    options: [NODE_HOME_OPTION],
    examples: [{ line: 'chancery status --home ./node', summary: 'One look at everything.' }],
    needs: 'node',
  },
  {
    path: ['heartbeat'],
    summary: 'Report once that a node lives',
    description: 'Sends one heartbeat. To keep a node alive, use node run.',
    arguments: [],
    options: [NODE_HOME_OPTION, { flags: '--status <text>', summary: 'What the roster shows.', default: 'healthy' }],
    examples: [{ line: 'chancery heartbeat --home ./node', summary: 'One heartbeat.' }],
    needs: 'node',
  },
  {
    path: ['renew'],
    summary: 'Renew a certificate',
    description:
      'Replaces the certificate by a new one with the same key and roles. node run does it in time by itself.',
    arguments: [],
    options: [NODE_HOME_OPTION, VALIDITY_OPTION],
    examples: [{ line: 'chancery renew --home ./node', summary: 'For as long as the old one was made for.' }],
    needs: 'node',
  },
  {
    path: ['node', 'run'],
    summary: 'Keep a node in the network',
    description:
      'Runs until it is told to stop: heartbeats at the pace the authority asks for, renews the certificate in time ' +
      'and fetches revocation list and policy when they change. Prints JSON lines unless it runs on a terminal.',
    arguments: [],
    options: [NODE_HOME_OPTION, { flags: '--status <text>', summary: 'What the roster shows.', default: 'healthy' }],
    examples: [{ line: 'chancery node run --home ./node', summary: 'In a terminal, or as a service.' }],
    needs: 'node',
  },
  {
    path: ['nodes'],
    summary: 'Count or list active nodes',
    description: 'Says how many nodes are active, which anybody may ask. Which ones they are, only an operator learns.',
    arguments: [],
    options: [{ flags: '--roster', summary: 'List them; this needs an operator key.' }],
    examples: [
      { line: 'chancery nodes', summary: 'How many.' },
      { line: 'chancery nodes --roster', summary: 'Which ones, with roles and last heartbeat.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['revoke'],
    summary: 'Revoke certificates',
    description:
      'Takes certificates out of use for good and publishes the list that says so, up to 1000 per call. An id that is ' +
      'not known stops its call, which then changes nothing.',
    arguments: [
      {
        name: 'certificate',
        summary: 'Id of a certificate, or its certificate.json.',
        required: false,
        variadic: true,
      },
    ],
    options: [
      {
        flags: '--reason <word>',
        summary: 'Why. key_compromise also takes every other certificate of the node key and bars the key for ever.',
        default: 'unspecified',
        choices: REVOCATION_REASONS,
      },
      {
        flags: '--all-of-key',
        summary: 'Ends every other certificate of the same node keys with them; without it they are named.',
      },
      { flags: '--file <file>', summary: 'File with one id per line; lines that start with # are comments.' },
      {
        flags: '--forgotten',
        summary: 'After a restore: send the certificate files themselves, so that unknown ones are revoked, too.',
      },
      {
        flags: '--node-key <key>',
        summary: 'After a restore: node key of the one certificate id, so that it is revoked although it is unknown.',
      },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery revoke 7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6 --reason cessation_of_operation',
        summary: 'Shows what follows, asks, then revokes.',
      },
      { line: 'chancery revoke --file ids.txt --reason key_compromise --yes', summary: 'After an incident.' },
    ],
    needs: 'operator',
  },
]
