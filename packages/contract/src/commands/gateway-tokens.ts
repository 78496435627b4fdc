import type { Command, CommandOption } from './command.ts'

const GATEWAY: CommandOption = { flags: '--gateway <dir>', summary: 'Folder that gateway init made', required: true }
const ALGORITHMS = ['ES256', 'EdDSA', 'RS256'] as const

/** Commands for access tokens. */
export const gatewayTokens: readonly Command[] = [
  {
    path: ['gateway', 'enable', 'tokens'],
    summary: 'Issue access tokens for a service',
    description:
      'Adds access tokens to the policy of a gateway: a first signing key and one service. The gateway asks the authority for decisions as the given node, which needs a relay role there. Writes nothing if a check of a start fails.',
    arguments: [],
    options: [
      GATEWAY,
      { flags: '--issuer <url>', summary: 'Public origin of the gateway, such as https://gw.example', required: true },
      { flags: '--resource <url>', summary: 'Identifier of the service, which tokens name', required: true },
      {
        flags: '--scope <scope>',
        summary: 'Scope, or scope=capability; without a capability both are equal',
        required: true,
        repeatable: true,
      },
      { flags: '--name <name>', summary: 'Name of the service in the policy', default: 'service' },
      { flags: '--network <name>', summary: 'Network whose authority decides; needed with several networks' },
      {
        flags: '--caller <network>',
        summary: 'Network whose nodes may get tokens; default: the one that decides',
        repeatable: true,
      },
      { flags: '--node <dir>', summary: 'Folder of the node that asks; not needed when the network has decisions' },
      { flags: '--alg <name>', summary: 'Algorithm of the tokens', default: 'ES256', choices: ALGORITHMS },
      { flags: '--bearer', summary: 'Also issue tokens that are bound to no key, for services without DPoP' },
    ],
    examples: [
      {
        line: 'chancery gateway enable tokens --gateway ./gateway --issuer https://gw.example --resource https://ledger.example/api --scope ledger.read --node ./relay',
        summary: 'Then restart or reload the gateway',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token-key', 'new'],
    summary: 'Create a key that signs access tokens',
    description:
      'Writes a new private key and prints its entry for signing_keys of the policy. It signs two hours from now, so that services have read the key set before.',
    arguments: [],
    options: [
      { flags: '--out <file>', summary: 'New file for the private key', required: true },
      { flags: '--alg <name>', summary: 'Algorithm of the key', default: 'ES256', choices: ALGORITHMS },
    ],
    examples: [{ line: 'chancery gateway token-key new --out token-2.pem', summary: 'Add the entry, then reload' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token-key', 'list'],
    summary: 'List the keys that sign access tokens',
    description: 'Prints id, algorithm and time of each key of the policy, and which ones sign now.',
    arguments: [],
    options: [GATEWAY],
    examples: [{ line: 'chancery gateway token-key list --gateway ./gateway', summary: 'Before a rotation' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token-key', 'pem'],
    summary: 'Print a public key of access tokens as PEM',
    description: 'For services that read a PEM file and no key set. Default: the key that signs now.',
    arguments: [],
    options: [GATEWAY, { flags: '--kid <id>', summary: 'Id of the key, when several sign' }],
    examples: [{ line: 'chancery gateway token-key pem --gateway ./gateway > token.pub.pem', summary: 'For HAProxy' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'resource-metadata'],
    summary: 'Print what a service publishes about its tokens',
    description:
      'Prints the protected resource metadata of RFC 9728, the address at which the service publishes it, and its challenge for requests without a token.',
    arguments: [{ name: 'name', summary: 'Name of the service in the policy', required: true }],
    options: [GATEWAY],
    examples: [
      { line: 'chancery gateway resource-metadata service --gateway ./gateway', summary: 'For the service "service"' },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token', 'get'],
    summary: 'Get an access token as a node, for a test',
    description:
      'Asks a gateway for an access token with the key and certificate of a node, and prints scopes and decisions. Exit code 1 when the authority denies every scope.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Folder of the node' },
      { flags: '--issuer <url>', summary: 'The gateway that issues tokens of the service', required: true },
      { flags: '--resource <url>', summary: 'Identifier of the service', required: true },
      { flags: '--scope <scope>', summary: 'Scope; default: those of the policy', repeatable: true },
      { flags: '--attestation <file>', summary: 'Attestation of this node' },
      { flags: '--bearer', summary: 'A token that is bound to no key' },
    ],
    examples: [
      {
        line: 'chancery gateway token get --home ./node --issuer https://gw.example --resource https://ledger.example/api --scope ledger.read',
        summary: 'Prints the token with --json',
      },
    ],
    needs: 'node',
  },
]
