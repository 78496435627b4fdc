import type { Command, CommandArgument, CommandOption } from './command.ts'

const ENV_FILE: CommandOption = {
  flags: '--env-file <file>',
  summary: 'Read settings from this file; the environment overrules it.',
}
const NETWORK: CommandArgument = { name: 'network', summary: 'Name of the network in the policy.', required: true }
const ISSUER: CommandArgument = { name: 'issuer', summary: 'Key id of the issuer of its lists.', required: true }
const REASON: CommandOption = { flags: '--reason <text>', summary: 'Kept in the audit.', required: true }

const running: readonly Command[] = [
  {
    path: ['gateway', 'start'],
    summary: 'Run the trust gateway',
    description:
      'Starts the gateway and runs until it is told to stop. SIGHUP reads all files again. With --check-config or --init-state it only does that and ends.',
    arguments: [],
    options: [
      {
        flags: '--check-config',
        summary: 'Check everything a start would load, read-only; --json lists all problems.',
      },
      { flags: '--online', summary: 'With --check-config: also call the configured addresses.' },
      { flags: '--init-state', summary: 'Create the durable state once, from the verified policy.' },
      { flags: '--version', summary: 'Print the version.' },
      ENV_FILE,
    ],
    examples: [
      { line: 'chancery gateway start --check-config', summary: 'Before a rollout or a reload.' },
      { line: 'chancery gateway start --init-state', summary: 'Once per replica, before its first start.' },
      { line: 'chancery gateway start', summary: 'With the GATEWAY_ settings of the environment.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'doctor'],
    summary: 'Check the deployment of a gateway and say what to do',
    description:
      'Looks at settings, policy, credentials and certificates that end soon, lists and their age, the durable state and ' +
      'who holds it, the addresses it calls and this instance. Runs beside a live gateway and changes nothing. Ends with 1 ' +
      'when something is bad.',
    arguments: [],
    options: [{ flags: '--offline', summary: 'Do not call the addresses of the policy and the collector.' }, ENV_FILE],
    examples: [
      { line: 'chancery gateway doctor --env-file /etc/chancery-gateway/gateway.env', summary: 'On its machine.' },
      { line: 'chancery gateway doctor --offline --json', summary: 'For a program, without a call.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token', 'new'],
    summary: 'Make a bearer credential',
    description: 'Prints a new random token and the digest that goes into the policy. The token is shown only here.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery gateway token new', summary: 'First the token, then its digest.' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token', 'digest'],
    summary: 'Print the digest of a token',
    description: 'Reads a token from standard input, so that it stands in no process list, and prints its digest.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery gateway token digest < token.txt', summary: 'For token_sha256 of the policy.' }],
    needs: 'nothing',
  },
]

const state: readonly Command[] = [
  {
    path: ['gateway', 'state', 'floors'],
    summary: 'Print what must never go back',
    description: 'Prints sequence and digest of every list in force and the audit head. Keep a copy elsewhere.',
    arguments: [],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway state floors > floors.json', summary: 'Also while the gateway runs.' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'verify'],
    summary: 'Check a state file',
    description: 'Checks integrity, audit chain, the lists under the configured anchors, and saved floors.',
    arguments: [{ name: 'file', summary: 'State file or backup.', required: true }],
    options: [{ flags: '--floors <file>', summary: 'Saved answer of state floors.' }, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway state verify backup.state --floors floors.json',
        summary: 'Before a backup is put into service.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'backup'],
    summary: 'Copy the state',
    description: 'Makes a consistent copy while the gateway runs, and checks it. Never replaces a file.',
    arguments: [{ name: 'file', summary: 'The copy.', required: true }],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway state backup /backup/gateway.state', summary: 'From a timer.' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'rotate-issuer'],
    summary: 'Follow an authority to its new key',
    description:
      'The stored list must verify under the old key and the new list under the configured one, with a higher sequence and every revocation of the old. The gateway must be stopped.',
    arguments: [NETWORK, ISSUER],
    options: [
      { flags: '--old-key <key>', summary: 'The public key so far, in base64.', required: true },
      { flags: '--new-crl <file>', summary: 'A list signed with the new key.', required: true },
      ENV_FILE,
    ],
    examples: [
      {
        line: 'chancery gateway state rotate-issuer agency na-main --old-key 0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc= --new-crl crl.json',
        summary: 'After the policy has the new anchor.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'clear-suspect'],
    summary: 'Clear a suspect issuer',
    description: 'After an operator has looked at the two histories an authority signed. The gateway must be stopped.',
    arguments: [NETWORK, ISSUER],
    options: [REASON, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway state clear-suspect agency na-main --reason "restored from backup, confirmed"',
        summary: 'The reason is kept in the audit.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'state', 'release-revocation'],
    summary: 'Let go of a withdrawn revocation',
    description: 'Only for a certificate that a later list left out. The gateway must be stopped.',
    arguments: [NETWORK, ISSUER, { name: 'certificate', summary: 'Certificate id.', required: true }],
    options: [REASON, ENV_FILE],
    examples: [
      {
        line: 'chancery gateway state release-revocation agency na-main cert-7f --reason "revoked by mistake"',
        summary: 'The reason is kept in the audit.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'audit', 'verify'],
    summary: 'Check the audit chain',
    description: 'Recomputes every hash and link of the kept audit events.',
    arguments: [],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway audit verify', summary: 'Also while the gateway runs.' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'audit', 'export'],
    summary: 'Print the audit events',
    description: 'Prints the kept audit events as JSON Lines, oldest first.',
    arguments: [],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway audit export > audit.ndjson', summary: 'Also while the gateway runs.' }],
    needs: 'nothing',
  },
]

const preflight: readonly Command[] = [
  {
    path: ['gateway', 'follow'],
    summary: 'Pin the newest key of a network',
    description:
      'Asks the authority of a network for its newest key and changes the policy file: the new key beside the old one, and in its place once that is retired. Block, history and list must be signed by the root key of the given block and by the new key. Reload the gateway afterwards.',
    arguments: [],
    options: [
      { flags: '--policy <file>', summary: 'The policy file of the gateway; it is replaced.', required: true },
      { flags: '--network <name>', summary: 'The network in it.', required: true },
      {
        flags: '--genesis <file>',
        summary: 'The block you hold of that network; its root key decides.',
        required: true,
      },
    ],
    examples: [
      {
        line: 'chancery gateway follow --policy policy.json --network ACME-NET --genesis genesis.json --url https://na.example.org',
        summary: 'Then reload: kill -HUP.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'preflight'],
    summary: 'Check what an authority publishes before trusting it',
    description:
      'Reads public material of an authority, compares it with what you were told out of band, and writes a fragment for the policy only when every check passes. A key or genesis block from before a key succession is followed by the published key history, when the root key signed it. It needs no key and changes nothing.',
    arguments: [],
    options: [
      { flags: '--origin <url>', summary: 'Scheme, host and port of the authority.', required: true },
      { flags: '--genesis <file>', summary: 'Its genesis block, as you were given it: name, key and root key.' },
      { flags: '--network <name>', summary: 'Without --genesis: its network name, as you were told.' },
      {
        flags: '--authority-key <key>',
        summary: 'Without --genesis: its public key, as you were told: a .pub file or base64.',
      },
      { flags: '--root-key <key>', summary: 'The root public key, as you were told: a .pub file or base64.' },
      {
        flags: '--accept-self-declared-root',
        summary: 'Take the root key from the authority itself; it proves consistency, not ownership.',
      },
      { flags: '--allow-http', summary: 'Permit http inside your own networks.' },
      { flags: '--report <file>', summary: 'Write the report to a new file.' },
      { flags: '--policy-fragment <file>', summary: 'Write the network for the policy to a new file.' },
      { flags: '--previous <file>', summary: 'An earlier fragment: nothing may have gone back.' },
    ],
    examples: [
      {
        line: 'chancery gateway preflight --origin https://na.example.org --network agency --authority-key 0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc= --root-key F8t5+ytBIPKx7GXkGY1uCLKOgT/rAeSkAIObheGAgM4= --policy-fragment agency.json',
        summary: 'Review and merge the fragment, then --check-config and reload.',
      },
    ],
    needs: 'nothing',
  },
]

const local: readonly Command[] = [
  {
    path: ['cert', 'verify'],
    summary: 'Judge a join certificate',
    description:
      'Checks signatures, times and a revocation list locally. Ends with 0 only when the certificate is trusted.',
    arguments: [{ name: 'file', summary: 'The certificate as JSON.', required: true }],
    options: [
      { flags: '--anchor <id=key>', summary: 'Pinned public key of an issuer.', required: true, repeatable: true },
      { flags: '--crl <file>', summary: 'Signed revocation list.' },
    ],
    examples: [
      {
        line: 'chancery cert verify cert.json --anchor na-main=0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc= --crl crl.json',
        summary: 'Prints the reasons, not the identifiers.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['cert', 'issue'],
    summary: 'Make a join certificate for tests',
    description: 'Signs a certificate with a local key. For tests only: a real one comes from an authority.',
    arguments: [],
    options: [
      { flags: '--key <file>', summary: 'Private key file of the issuer.', required: true },
      { flags: '--key-id <id>', summary: 'Key id of the issuer.', required: true },
      { flags: '--network <name>', summary: 'Network name.', required: true },
      { flags: '--node-key <key>', summary: 'Public key of the node, in base64.', required: true },
      { flags: '--role <role>', summary: 'A role.', repeatable: true },
      { flags: '--valid-hours <n>', summary: 'Validity in hours.', default: '24' },
    ],
    examples: [
      {
        line: 'chancery cert issue --key test.key --key-id na-test --network lab --node-key oJql9HpnWYAv+VX43C0qFKXJnSO+l/hkEn/5ODRVpPA= --role role:client',
        summary: 'Prints the certificate.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['canonical'],
    summary: 'Print the canonical form of a JSON file',
    description: 'Reads a file strictly and prints the bytes a signature would cover.',
    arguments: [{ name: 'file', summary: 'A JSON file.', required: true }],
    options: [],
    examples: [{ line: 'chancery canonical record.json', summary: 'For comparing with another implementation.' }],
    needs: 'nothing',
  },
]

export const gatewayCommands: readonly Command[] = [...running, ...state, ...preflight, ...local]
