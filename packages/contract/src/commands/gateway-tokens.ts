import type { Command, CommandOption } from './command.ts'

/** For `gateway enable tokens`. */
export const TOKEN_OPTIONS: readonly CommandOption[] = [
  { flags: '--issuer <url>', summary: 'tokens: public origin of the gateway, such as https://gw.example' },
  { flags: '--resource <url>', summary: 'tokens: identifier of the service, which tokens name' },
  {
    flags: '--scope <scope>',
    summary: 'tokens: scope, or scope=capability; without a capability both are equal',
    repeatable: true,
  },
  { flags: '--name <name>', summary: 'tokens: name of the service in the policy', default: 'service' },
  { flags: '--authority <network>', summary: 'tokens: network that decides; needed with several networks' },
  {
    flags: '--caller <network>',
    summary: 'tokens: network whose nodes may get tokens; default: the one that decides',
    repeatable: true,
  },
  {
    flags: '--node <node>',
    summary: 'tokens: folder of the node that asks; not needed when the network has decisions',
  },
  { flags: '--alg <name>', summary: 'tokens: algorithm', default: 'ES256', choices: ['ES256', 'EdDSA', 'RS256'] },
  { flags: '--bearer', summary: 'tokens: also issue tokens that are bound to no key, for services without DPoP' },
]

const ALGORITHMS = ['ES256', 'EdDSA', 'RS256'] as const

/** Commands for access tokens. */
export const gatewayTokens: readonly Command[] = [
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
    options: [],
    examples: [{ line: 'chancery gateway token-key list --home ./gateway', summary: 'Before a rotation' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token-key', 'pem'],
    summary: 'Print a public key of access tokens as PEM',
    description: 'For services that read a PEM file and no key set. Default: the key that signs now.',
    arguments: [],
    options: [{ flags: '--kid <id>', summary: 'Id of the key, when several sign' }],
    examples: [{ line: 'chancery gateway token-key pem --home ./gateway > token.pub.pem', summary: 'For HAProxy' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'resource-metadata'],
    summary: 'Print what a service publishes about its tokens',
    description:
      'Prints the protected resource metadata of RFC 9728, the address at which the service publishes it, and its challenge for requests without a token.',
    arguments: [{ name: 'name', summary: 'Name of the service in the policy', required: true }],
    options: [],
    examples: [
      { line: 'chancery gateway resource-metadata service --home ./gateway', summary: 'For the service "service"' },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'token'],
    summary: 'Get an access token as a node, for a test',
    description:
      'Asks a gateway for an access token with the key and certificate of a node, and prints scopes and decisions. Exit code 1 when the authority denies every scope.',
    arguments: [],
    options: [
      { flags: '--issuer <url>', summary: 'The gateway that issues tokens of the service', required: true },
      { flags: '--resource <url>', summary: 'Identifier of the service', required: true },
      { flags: '--scope <scope>', summary: 'Scope; default: those of the policy', repeatable: true },
      { flags: '--attestation <file>', summary: 'Attestation of this node' },
      { flags: '--bearer', summary: 'A token that is bound to no key' },
    ],
    examples: [
      {
        line: 'chancery gateway token --home ./node --issuer https://gw.example --resource https://ledger.example/api --scope ledger.read',
        summary: 'Prints the token with --json',
      },
    ],
    needs: 'node',
  },
]
