import { REVOCATION_REASONS } from '@chancery/protocol'
import { type Command, type CommandOption, LIST_OPTIONS, REVOKING_OPTIONS } from './command.ts'

/** Options of every command that signs with a node key. */
export const NODE_HOME_OPTION: CommandOption = {
  flags: '--home <dir>',
  summary: 'Folder of the node, created by join; default: the files of the configuration',
}

const VALIDITY_OPTION: CommandOption = {
  flags: '--validity-hours <n>',
  summary: 'Requested validity in hours; the invite may allow less',
}

export const enrollmentCommands: readonly Command[] = [
  {
    path: ['invite'],
    summary: 'Create an invite for a node',
    description: 'Creates a single-use token for one node. The token is a secret and is shown only once.',
    arguments: [],
    options: [
      { flags: '--role <role>', summary: 'Role of the node, for example role:client', repeatable: true },
      { flags: '--max-validity-hours <n>', summary: 'Maximum validity of its certificates, in hours', default: '168' },
      { flags: '--token-expiry-hours <n>', summary: 'Validity of the token, in hours', default: '24' },
      { flags: '--recipient <key>', summary: 'Only node key that may use it: a .pub file or base64' },
      { flags: '--label <text>', summary: 'Name of the node for operators, 1 to 64 characters' },
      { flags: '--out <file>', summary: 'Write the token to a new private file and do not print it' },
      {
        flags: '--count <n>',
        summary: 'Number of invites, 1 to 1000; one token per line in the file of --out',
      },
      { flags: '--print', summary: 'With --count: print the tokens instead of writing a file' },
    ],
    examples: [
      { line: 'chancery invite', summary: 'Create an invite for any node, with role:client' },
      {
        line: 'chancery invite --role role:anchor --role role:bridge --recipient ./node.pub --out invite.token',
        summary: 'Two roles, one node key, token not printed',
      },
      { line: 'chancery invite --count 500 --out fleet.tokens', summary: 'Create 500 invites, all or none' },
    ],
    needs: 'operator',
  },
  {
    path: ['invite', 'list'],
    summary: 'List invites',
    description: 'Lists invites by token fingerprint, with their creator and state. A token cannot be shown again.',
    arguments: [],
    options: [
      {
        flags: '--state <state>',
        summary: 'State of the invites',
        choices: ['open', 'used', 'withdrawn', 'expired', 'all'],
        default: 'open',
      },
      { flags: '--created-by <key_id>', summary: 'Only invites of this operator key' },
      { flags: '--batch <id>', summary: 'Only invites of this batch' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery invite list', summary: 'List open invites' },
      {
        line: 'chancery invite list --created-by ops-2 --state all --all',
        summary: 'List all invites of one operator key',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['invite', 'withdraw'],
    summary: 'Withdraw invites',
    description:
      'Withdraws unused invites. A standard key can withdraw its own invites, a privileged key all invites. Nodes that have joined are not affected; revoke their certificates.',
    arguments: [
      { name: 'fingerprint', summary: 'Fingerprints, as shown by invite list', required: false, variadic: true },
    ],
    options: [
      { flags: '--created-by <key_id>', summary: 'All open invites of this operator key' },
      { flags: '--batch <id>', summary: 'All open invites of this batch' },
      { flags: '--reason <text>', summary: 'Reason, written to the audit log', default: 'unspecified' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      { line: 'chancery invite withdraw 96149fd8297ceb40', summary: 'Show the preview, ask, then withdraw' },
      {
        line: 'chancery invite withdraw --created-by ops-2 --yes',
        summary: 'Withdraw all open invites of a compromised key',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['join'],
    summary: 'Join a network',
    description:
      'Exchanges an invite, or evidence of the platform this machine runs on, for a certificate. Creates a node key if the folder has none, and pins the authority by its genesis block. Give the token in a file or on standard input, because other users can see the command line.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Folder for the key, certificate and genesis block', required: true },
      { flags: '--token <token>', summary: 'The token; it stays in the shell history' },
      { flags: '--token-file <file>', summary: 'File with the token; default: standard input' },
      {
        flags: '--evidence <source>',
        summary: 'Join without an invite, by the word of this platform',
        choices: ['github', 'gitlab', 'kubernetes', 'spiffe', 'spiffe-x509'],
      },
      { flags: '--evidence-file <file>', summary: 'Join without an invite, by a token in this file' },
      { flags: '--rule <id>', summary: 'Admission rule for the evidence' },
      {
        flags: '--genesis <pin>',
        summary: 'Expected genesis block: a file or its fingerprint sha256:<hex>',
      },
      VALIDITY_OPTION,
    ],
    examples: [
      {
        line: 'chancery join --home ./node --url https://na.example.org --genesis genesis.json --token-file invite.token',
        summary: 'Join exactly this network',
      },
      {
        line: 'chancery join --home ./node --url https://na.example.org',
        summary: 'Ask for the token and pin the block found; compare the fingerprint it prints',
      },
      {
        line: 'chancery join --home ./node --url https://na.example.org --genesis genesis.json --evidence github --rule ci',
        summary: 'Join from a job of GitHub Actions',
      },
    ],
    needs: 'node',
  },
  {
    path: ['status'],
    summary: 'Show the status of a node',
    description:
      'Checks the certificate of the node, the revocation list, the authority and the clock, and prints the next step. Exit code 1 if an action is required.',
    arguments: [],
    options: [NODE_HOME_OPTION],
    examples: [{ line: 'chancery status --home ./node', summary: 'Check everything once' }],
    needs: 'node',
  },
  {
    path: ['heartbeat'],
    summary: 'Send one heartbeat',
    description:
      'Sends one heartbeat to the authority. When the authority announces its next key, the node takes up the block that the root signed, and its next heartbeat reports it. To send heartbeats continuously, use node run.',
    arguments: [],
    options: [
      NODE_HOME_OPTION,
      { flags: '--status <text>', summary: 'Status shown in the roster', default: 'healthy' },
    ],
    examples: [{ line: 'chancery heartbeat --home ./node', summary: 'Send one heartbeat' }],
    needs: 'node',
  },
  {
    path: ['renew'],
    summary: 'Renew a certificate',
    description:
      'Replaces the certificate by a new one with the same key and roles. A node that joined by evidence gets fresh evidence. node run renews certificates automatically.',
    arguments: [],
    options: [NODE_HOME_OPTION, VALIDITY_OPTION],
    examples: [{ line: 'chancery renew --home ./node', summary: 'Renew with the same validity' }],
    needs: 'node',
  },
  {
    path: ['node', 'run'],
    summary: 'Run a node',
    description:
      'Sends heartbeats at the interval of the authority, renews the certificate and fetches the policy when it changes. Runs until it is stopped. Prints JSON lines unless it runs on a terminal.',
    arguments: [],
    options: [
      NODE_HOME_OPTION,
      { flags: '--status <text>', summary: 'Status shown in the roster', default: 'healthy' },
      { flags: '--crl', summary: 'Also fetch the revocation list when it changes' },
    ],
    examples: [{ line: 'chancery node run --home ./node', summary: 'Run in a terminal or as a service' }],
    needs: 'node',
  },
  {
    path: ['node', 'label'],
    summary: 'Label a node',
    description:
      'Names a node key for operators. The label stays with the key over renewals. It is shown to operators only and has no effect on trust.',
    arguments: [
      { name: 'key', summary: 'Node key: a .pub file or base64', required: true },
      { name: 'label', summary: 'The label, 1 to 64 characters', required: false },
    ],
    options: [{ flags: '--remove', summary: 'Remove the label' }],
    examples: [
      { line: 'chancery node label ./node.pub "Berlin 3"', summary: 'Name a node' },
      { line: 'chancery node label ./node.pub --remove', summary: 'Remove the name' },
    ],
    needs: 'operator',
  },
  {
    path: ['certs'],
    summary: 'List issued certificates',
    description:
      'Lists every certificate that the authority issued, newest first, with its state and the label of its node. Ended ones are included until they are removed.',
    arguments: [],
    options: [
      {
        flags: '--state <state>',
        summary: 'Only certificates in this state',
        choices: ['valid', 'superseded', 'expired', 'revoked'],
      },
      { flags: '--label <text>', summary: 'Only nodes whose label contains this text, in any case' },
      { flags: '--node-key <key>', summary: 'Only certificates of this node key: a .pub file or base64' },
      { flags: '--role <role>', summary: 'Only certificates with this role' },
      { flags: '--expires-before <time>', summary: 'Only certificates that end before this time' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery certs', summary: 'The newest certificates' },
      {
        line: 'chancery certs --label berlin --state valid --all',
        summary: 'All valid certificates of labelled nodes',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['nodes'],
    summary: 'Count or list active nodes',
    description: 'Prints the number of active nodes, which is public. With an operator key, --roster lists the nodes.',
    arguments: [],
    options: [{ flags: '--roster', summary: 'List the nodes; needs an operator key' }],
    examples: [
      { line: 'chancery nodes', summary: 'Count active nodes' },
      { line: 'chancery nodes --roster', summary: 'List active nodes with roles and last heartbeat' },
    ],
    needs: 'nothing',
  },
  {
    path: ['revoke'],
    summary: 'Revoke certificates',
    description:
      'Revokes certificates permanently, with all other certificates of the same node keys, and publishes the new revocation list. Up to 1000 certificates are named per call. If an id is unknown, the call changes nothing.',
    arguments: [
      {
        name: 'certificate',
        summary: 'Certificate id, or a certificate.json file',
        required: false,
        variadic: true,
      },
    ],
    options: [
      {
        flags: '--reason <word>',
        summary:
          'Reason; key_compromise also revokes all other certificates of the node key and blocks the key permanently',
        default: 'unspecified',
        choices: REVOCATION_REASONS,
      },
      {
        flags: '--only-this',
        summary: 'Keep other certificates of the same node keys; the node can go on with them, and they are listed',
      },
      {
        flags: '--all-of-key',
        summary: 'Revoke all certificates of the same node keys: the default, for commands of earlier releases',
      },
      { flags: '--file <file>', summary: 'File with one id per line; lines starting with # are comments' },
      {
        flags: '--forgotten',
        summary: 'After a restore: send the certificate files, so that unknown certificates are revoked too',
      },
      {
        flags: '--node-key <key>',
        summary: 'After a restore: node key of the certificate id, to revoke an unknown certificate',
      },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery revoke 7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6 --reason cessation_of_operation',
        summary: 'Show the preview, ask, then revoke',
      },
      { line: 'chancery revoke --file ids.txt --reason key_compromise --yes', summary: 'Revoke after an incident' },
    ],
    needs: 'operator',
  },
]
