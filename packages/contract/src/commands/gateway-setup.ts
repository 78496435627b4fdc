import type { Command, CommandOption } from './command.ts'

/** Where the trust comes from: an address with its root key, or the folder of an authority on this machine. */
const SOURCE: readonly CommandOption[] = [
  { flags: '--authority <url>', summary: 'Scheme, host and port of the authority' },
  { flags: '--root-key <key>', summary: 'Root public key, received out of band: a .pub file or base64' },
  { flags: '--home <dir>', summary: 'Instead of both: the folder that chancery init made' },
  {
    flags: '--allow-http',
    summary: 'Allow http and private addresses inside your own networks; http to this machine needs no flag',
  },
]

const RULES: readonly CommandOption[] = [
  { flags: '--role <role>', summary: 'Role that a certificate must have', repeatable: true },
  { flags: '--refresh-seconds <n>', summary: 'Seconds between fetches of the revocation list', default: '60' },
]

/** Commands that write the files of a gateway. */
export const gatewaySetup: readonly Command[] = [
  {
    path: ['gateway', 'init'],
    summary: 'Create a gateway for a network',
    description:
      'Verifies the authority with its root key, then writes policy, settings, state and a caller token into a new folder and checks them as a start does. Writes nothing if a check fails, and never replaces a file.',
    arguments: [],
    options: [
      ...SOURCE,
      { flags: '--out <dir>', summary: 'New or empty folder for the files of the gateway', required: true },
      { flags: '--host <address>', summary: 'Listening IP address of the gateway', default: '127.0.0.1' },
      { flags: '--port <n>', summary: 'Listening port of the gateway', default: '8080' },
      ...RULES,
      { flags: '--client <id>', summary: 'Name of the service that gets the token', default: 'service' },
      { flags: '--token-file <file>', summary: 'New file for the caller token; default: caller.token in the folder' },
      { flags: '--show-token', summary: 'Print the token once instead of writing a file' },
      { flags: '--token-days <n>', summary: 'Days until the token expires', default: '365' },
      { flags: '--metrics', summary: 'Let the token also read /metrics' },
      { flags: '--start', summary: 'Also run the gateway in the background and return when it is ready' },
    ],
    examples: [
      {
        line: 'chancery gateway init --home ./na --out ./gateway --start',
        summary: 'For an authority on this machine; starts the gateway',
      },
      {
        line: 'chancery gateway init --authority https://na.example.org --root-key root.pub --out ./gateway',
        summary: 'For an authority elsewhere',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'add-network'],
    summary: 'Add a network to a gateway',
    description:
      'Verifies another authority with its root key and adds its network to the policy that gateway init wrote. The new policy replaces the old one only after it has passed the checks of a start. Reload the gateway afterwards.',
    arguments: [],
    options: [
      { flags: '--gateway <dir>', summary: 'Folder that gateway init made', required: true },
      ...SOURCE,
      ...RULES,
      { flags: '--client <id>', summary: 'Client that may use the network; needed with several clients' },
    ],
    examples: [
      {
        line: 'chancery gateway add-network --gateway ./gateway --authority https://na.partner.example --root-key partner-root.pub',
        summary: 'Then reload the gateway with kill -HUP',
      },
    ],
    needs: 'nothing',
  },
]
