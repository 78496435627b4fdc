import type { Command } from './command.ts'

export const demoCommands: readonly Command[] = [
  {
    path: ['demo'],
    summary: 'Run a demo network',
    description:
      'Creates a network with the activity of the last 12 hours, starts its authority and keeps it in use: nodes send heartbeats, renew certificates and ask for decisions. A second start continues with the folder. The keys are public and the same every time; do not expose the network.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Folder of the demo: empty, or of an earlier start', default: './demo' },
      { flags: '--port <n>', summary: 'Port of the authority, on this machine only', default: '8443' },
      { flags: '--nodes <n>', summary: 'Number of nodes of a new demo, 1 to 2000', default: '200' },
      {
        flags: '--two',
        summary: 'Two companies instead: a bank with a service, and a freight company with an agent that calls it',
      },
      {
        flags: '--gateway',
        summary: 'Also start a gateway and a protected service on the next two ports, and print two calls to try',
      },
      { flags: '--reset', summary: 'Delete the demo in the folder first, and make a new one' },
      { flags: '--static', summary: 'Create the records only: no past activity, and no activity after the start' },
    ],
    examples: [
      { line: 'chancery demo --home ./demo', summary: 'Start it, then open http://127.0.0.1:8443/ in a browser' },
      {
        line: 'chancery demo --gateway',
        summary: 'Start it with a gateway, and print a curl that is refused and one that is allowed',
      },
      { line: 'chancery demo --reset', summary: 'Delete the demo in ./demo and make a new one' },
      {
        line: 'chancery demo --two --home ./two',
        summary: 'Start two companies and a service on three ports, and print what to try next',
      },
    ],
    needs: 'nothing',
  },
]
