import { CHANGED, type Command, type CommandArgument, type CommandOption } from './command.ts'
import { ENV_FILE, gatewayAudit } from './audit.ts'
import { gatewaySetup } from './gateway-setup.ts'
import { gatewayTokens } from './gateway-tokens.ts'

const NETWORK: CommandArgument = { name: 'network', summary: 'Name of the network in the policy', required: true }
const ISSUER: CommandArgument = { name: 'issuer', summary: 'Key id of the issuer of its lists', required: true }
const REASON: CommandOption = { flags: '--reason <text>', summary: 'Reason, written to the audit log', required: true }

const running: readonly Command[] = [
  {
    path: ['gateway', 'start'],
    summary: 'Run the trust gateway',
    description:
      'Starts the gateway and runs until it is stopped. SIGHUP reloads all files. With --check-config or --init-state it does only that and exits; --detach leaves a log and a process id next to the settings file.',
    arguments: [],
    options: [
      {
        flags: '--check-config',
        summary: 'Check everything that a start loads, read-only; --json lists all problems',
      },
      { flags: '--online', summary: 'With --check-config: also call the configured addresses' },
      { flags: '--init-state', summary: 'Create the durable state once, from the verified policy' },
      { flags: '--detach', summary: 'Run the gateway in the background and return when it is ready' },
      { flags: '--version', summary: 'Print the version' },
      ENV_FILE,
    ],
    examples: [
      { line: 'chancery gateway start --check-config', summary: 'Check before a rollout or a reload' },
      { line: 'chancery gateway start --init-state', summary: 'Run once per replica, before its first start' },
      { line: 'chancery gateway start', summary: 'Start with the GATEWAY_ settings of the environment' },
      {
        line: 'chancery gateway start --env-file ./gateway/gateway.env --detach',
        summary: 'Start in the background; stop it with kill $(cat ./gateway/gateway.pid)',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'doctor'],
    summary: 'Check a gateway and report what to do',
    description:
      'Checks settings, policy, the expiry of credentials and certificates, lists, the durable state and its owner, the configured addresses and this instance. It can run next to a running gateway and changes nothing. Exit code 1 if a check fails.',
    arguments: [],
    options: [{ flags: '--offline', summary: 'Do not call the addresses of the policy and the collector' }, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway doctor --env-file /etc/chancery-gateway/gateway.env',
        summary: 'Run it on the machine of the gateway',
      },
      { line: 'chancery gateway doctor --offline --json', summary: 'Check without network calls, in JSON' },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'settings'],
    summary: 'Print every setting of a gateway with its origin',
    description:
      'Prints each setting with its value, whether the environment, the settings file or the default gave it, and a star when it differs from the default. Secrets are only shown as set. Exit code 1 if a start with these settings would be refused.',
    arguments: [],
    options: [CHANGED, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway settings --env-file /etc/chancery-gateway/gateway.env --changed',
        summary: 'Show what differs from the defaults',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token', 'new'],
    summary: 'Create a bearer credential',
    description: 'Prints a new random token and its digest for the policy. The token is shown only once.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery gateway token new', summary: 'Print a token and its digest' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token', 'digest'],
    summary: 'Print the digest of a token',
    description:
      'Reads a token from standard input, so that it is not visible in the process list, and prints its digest.',
    arguments: [],
    options: [],
    examples: [
      { line: 'chancery gateway token digest < token.txt', summary: 'Print the digest for token_sha256 of the policy' },
    ],
    needs: 'nothing',
  },
]

const state: readonly Command[] = [
  {
    path: ['gateway', 'state', 'floors'],
    summary: 'Print the minimum list sequences',
    description:
      'Prints the sequence and digest of every current list and the head of the audit chain. Store a copy on another machine.',
    arguments: [],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway state floors > floors.json', summary: 'Works while the gateway runs' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'verify'],
    summary: 'Check a state file',
    description:
      'Checks the integrity of the file, the audit chain, the lists with the configured keys, and saved minimum sequences.',
    arguments: [{ name: 'file', summary: 'State file or backup', required: true }],
    options: [{ flags: '--floors <file>', summary: 'Saved output of state floors' }, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway state verify backup.state --floors floors.json',
        summary: 'Check a backup before you use it',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'backup'],
    summary: 'Back up the gateway state',
    description: 'Writes a consistent copy while the gateway runs, and checks it. Never replaces a file.',
    arguments: [{ name: 'file', summary: 'New file for the copy', required: true }],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway state backup /backup/gateway.state', summary: 'Run from a timer' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'rotate-issuer'],
    summary: 'Accept the new key of an authority',
    description:
      'The stored list must verify with the former key, and the new list with the configured key. The new list must have a higher sequence and all revocations of the stored one. Stop the gateway first.',
    arguments: [NETWORK, ISSUER],
    options: [
      { flags: '--old-key <key>', summary: 'Former public key, in base64', required: true },
      { flags: '--new-crl <file>', summary: 'List signed with the new key', required: true },
      ENV_FILE,
    ],
    examples: [
      {
        line: 'chancery gateway state rotate-issuer agency na-main --old-key 0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc= --new-crl crl.json',
        summary: 'Run after the policy has the new key',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'clear-suspect'],
    summary: 'Clear a suspect issuer',
    description:
      'Run it after you have checked why the authority signed two different lists with one sequence. Stop the gateway first.',
    arguments: [NETWORK, ISSUER],
    options: [REASON, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway state clear-suspect agency na-main --reason "restored from backup, confirmed"',
        summary: 'The reason is written to the audit log',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'release-revocation'],
    summary: 'Accept a certificate that a later list no longer names',
    description: 'Only for a certificate that a later list no longer names. Stop the gateway first.',
    arguments: [NETWORK, ISSUER, { name: 'certificate', summary: 'Certificate id', required: true }],
    options: [REASON, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway state release-revocation agency na-main cert-7f --reason "revoked by mistake"',
        summary: 'The reason is written to the audit log',
      },
    ],
    needs: 'nothing',
  },
]

const preflight: readonly Command[] = [
  {
    path: ['gateway', 'follow'],
    summary: 'Pin the newest key of a network',
    description:
      'Pins the root key, with which a running gateway follows later keys by itself, adds the newest key to the policy file, and removes a retired one. The root key of the given block must have signed the new block and history, and the new key the list. Needed once for a policy without root_public_key; reload the gateway afterwards.',
    arguments: [],
    options: [
      { flags: '--policy <file>', summary: 'Policy file of the gateway; it is replaced', required: true },
      { flags: '--network <name>', summary: 'Name of the network in the policy', required: true },
      {
        flags: '--genesis <file>',
        summary: 'Genesis block that you have of that network; its root key decides',
        required: true,
      },
    ],
    examples: [
      {
        line: 'chancery gateway follow --policy policy.json --network ACME-NET --genesis genesis.json --url https://na.example.org',
        summary: 'Update the policy, then reload with kill -HUP',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'preflight'],
    summary: 'Check an authority before you trust it',
    description:
      'Reads the public records of an authority, compares them with the values you received out of band, and writes a policy fragment if every check passes. A former key or block is followed by the key history that the root key signed. Needs no key and changes nothing.',
    arguments: [],
    options: [
      { flags: '--origin <url>', summary: 'Scheme, host and port of the authority', required: true },
      { flags: '--genesis <file>', summary: 'Genesis block received out of band: name, key and root key' },
      { flags: '--network <name>', summary: 'Without --genesis: network name, received out of band' },
      {
        flags: '--authority-key <key>',
        summary: 'Without --genesis: public key, received out of band: a .pub file or base64',
      },
      { flags: '--root-key <key>', summary: 'Root public key, received out of band: a .pub file or base64' },
      {
        flags: '--accept-self-declared-root',
        summary: 'Use the root key that the authority publishes; proves consistency, not ownership',
      },
      { flags: '--allow-http', summary: 'Allow http inside your own networks' },
      { flags: '--report <file>', summary: 'Write the report to a new file' },
      { flags: '--policy-fragment <file>', summary: 'Write the network for the policy to a new file' },
      { flags: '--previous <file>', summary: 'Earlier fragment; no sequence may be lower than in it' },
    ],
    examples: [
      {
        line: 'chancery gateway preflight --origin https://na.example.org --network agency --authority-key 0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc= --root-key F8t5+ytBIPKx7GXkGY1uCLKOgT/rAeSkAIObheGAgM4= --policy-fragment agency.json',
        summary: 'Merge the fragment, then run --check-config and reload',
      },
    ],
    needs: 'nothing',
  },
]

const local: readonly Command[] = [
  {
    path: ['cert', 'verify'],
    summary: 'Verify a join certificate',
    description:
      'Checks signatures, times and a revocation list on this machine. Exit code 0 only if the certificate is trusted, 2 if only its revocation is unknown: without --crl a revoked certificate looks valid.',
    arguments: [{ name: 'file', summary: 'JSON file with the certificate', required: true }],
    options: [
      { flags: '--anchor <id=key>', summary: 'Pinned public key of an issuer', required: true, repeatable: true },
      { flags: '--crl <file>', summary: 'Signed revocation list' },
      { flags: '--no-revocation', summary: 'Accept that revocation is not checked' },
    ],
    examples: [
      {
        line: 'chancery cert verify cert.json --anchor na-main=0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc= --crl crl.json',
        summary: 'Print the reasons without identifiers',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['cert', 'issue'],
    summary: 'Create a join certificate for tests',
    description: 'Signs a certificate with a local key, for tests only. An authority issues real certificates.',
    arguments: [],
    options: [
      { flags: '--key <file>', summary: 'Private key file of the issuer', required: true },
      { flags: '--key-id <id>', summary: 'Key id of the issuer', required: true },
      { flags: '--network <name>', summary: 'Network name', required: true },
      { flags: '--node-key <key>', summary: 'Public key of the node, in base64', required: true },
      { flags: '--role <role>', summary: 'Role of the node', repeatable: true },
      { flags: '--valid-hours <n>', summary: 'Validity in hours', default: '24' },
    ],
    examples: [
      {
        line: 'chancery cert issue --key test.key --key-id na-test --network lab --node-key oJql9HpnWYAv+VX43C0qFKXJnSO+l/hkEn/5ODRVpPA= --role role:client',
        summary: 'Print the certificate',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['canonical'],
    summary: 'Print the canonical form of a JSON file',
    description: 'Parses a file strictly and prints the bytes that a signature covers.',
    arguments: [{ name: 'file', summary: 'A JSON file', required: true }],
    options: [],
    examples: [{ line: 'chancery canonical record.json', summary: 'Compare with another implementation' }],
    needs: 'nothing',
  },
]

export const gatewayCommands: readonly Command[] = [
  ...gatewaySetup,
  ...running,
  ...gatewayTokens,
  ...state,
  ...gatewayAudit,
  ...preflight,
  ...local,
]
