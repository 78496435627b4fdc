import { HOST_OPTIONS } from './authority.ts'
import type { Command } from './command.ts'

/** Looking at a deployment: from the inside, with its settings, and from the outside, like a verifier. */
export const doctorCommands: readonly Command[] = [
  {
    path: ['doctor'],
    summary: 'Check a deployment and say what to do',
    description:
      'Looks at settings, keys and who may read them, what the database promises, clocks, high-water marks, the age of ' +
      'the list, feeds, treaties and anchors, other instances, the limiter, this instance and, with --public-url, the ' +
      'way in. Changes nothing; the look at proxies leaves one audit event of a refused call. Ends with 1 when something is bad.',
    arguments: [],
    options: [
      ...HOST_OPTIONS,
      { flags: '--public-url <url>', summary: 'Where strangers reach the authority, through the balancer.' },
    ],
    examples: [
      { line: 'chancery doctor --env-file /etc/chancery/authority.env', summary: 'On the machine of the authority.' },
      {
        line: 'chancery doctor --env-file /etc/chancery/authority.env --public-url https://na.example.org --json',
        summary: 'With the way in, for a program.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['watch'],
    summary: 'Watch what an authority publishes, from outside',
    description:
      'Reads the revocation list and the feed as any verifier does, and checks that they are reachable, signed by the ' +
      'authority of the genesis block, fresh, and never go back or have two contents under one number. What was seen ' +
      'last is kept in a file of its own. Ends with 1 when something is wrong.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Genesis block that pins the authority; else that of the configuration.' },
      { flags: '--state <file>', summary: 'Where to remember what was seen; without it only one moment is judged.' },
      { flags: '--every <seconds>', summary: 'Look again and again until it is told to stop, one line each.' },
      { flags: '--canary <certificate-id>', summary: 'A revoked certificate that the list must name.' },
      { flags: '--metrics-file <file>', summary: 'Also write Prometheus text, for the node exporter.' },
    ],
    examples: [
      {
        line: 'chancery watch --url https://na.example.org --genesis genesis.json --state watch.json',
        summary: 'Once, from a timer.',
      },
      {
        line: 'chancery watch --url https://na.example.org --genesis genesis.json --state watch.json --every 60 --json --metrics-file /var/lib/node-exporter/chancery.prom',
        summary: 'As a service.',
      },
    ],
    needs: 'nothing',
  },
]
