import { CHANGED, type Command, HOST_OPTIONS } from './command.ts'

/** Commands that check a deployment: with its settings, and from outside like a verifier. */
export const doctorCommands: readonly Command[] = [
  {
    path: ['doctor'],
    summary: 'Check a deployment and report what to do',
    description:
      'Checks settings, key files, database durability, clocks, high-water marks, lists, feeds, treaties, anchors, instances, the limiter and, with --public-url, the public address. Changes nothing; the proxy check causes one audit event of a refused call. Exit code 1 if a check fails.',
    arguments: [],
    options: [
      ...HOST_OPTIONS,
      { flags: '--public-url <url>', summary: 'Public URL of the authority, through the load balancer' },
    ],
    examples: [
      {
        line: 'chancery doctor --env-file /etc/chancery/authority.env',
        summary: 'Run it on the machine of the authority',
      },
      {
        line: 'chancery doctor --env-file /etc/chancery/authority.env --public-url https://na.example.org --json',
        summary: 'Also check the public address, in JSON',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['settings'],
    summary: 'Print every setting of an authority with its origin',
    description:
      'Prints each setting with its value, whether a flag, the environment, the settings file or the default gave it, and a star when it differs from the default. Secrets are only shown as set. Exit code 1 if a start with these settings would be refused.',
    arguments: [],
    options: [...HOST_OPTIONS, CHANGED],
    examples: [
      {
        line: 'chancery settings --env-file /etc/chancery/authority.env --changed',
        summary: 'Show what differs from the defaults',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['findings'],
    summary: 'List what needs attention in a network',
    description:
      'Asks a running authority for its findings, in the words of doctor: lists, partners, policies, nodes, anchors, backup and operator keys. Checks of settings, files and the machine need doctor on its host. Exit code 1 if a check fails.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery findings', summary: 'List problems with their fixes' }],
    needs: 'operator',
  },
  {
    path: ['watch'],
    summary: 'Monitor what an authority publishes, from outside',
    description:
      'Reads the revocation list and the feed like a verifier. Checks that they are reachable, signed by the authority of the genesis block and fresh, and that their sequences never go back or repeat with other content. Exit code 1 if a check fails.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Genesis block that pins the authority; default: the configured one' },
      { flags: '--state <file>', summary: 'File for the last positions; without it only the current state is checked' },
      { flags: '--every <seconds>', summary: 'Repeat every so many seconds until stopped, one line per check' },
      { flags: '--canary <certificate-id>', summary: 'Revoked certificate that the list must contain' },
      { flags: '--metrics-file <file>', summary: 'Also write Prometheus text for the node exporter' },
    ],
    examples: [
      {
        line: 'chancery watch --url https://na.example.org --genesis genesis.json --state watch.json',
        summary: 'Check once, from a timer',
      },
      {
        line: 'chancery watch --url https://na.example.org --genesis genesis.json --state watch.json --every 60 --json --metrics-file /var/lib/node-exporter/chancery.prom',
        summary: 'Run as a service',
      },
    ],
    needs: 'nothing',
  },
]
