import type { Command } from './command.ts'

export const demoCommands: readonly Command[] = [
  {
    path: ['demo'],
    summary: 'Run a demo network',
    description:
      'Creates a network in an empty folder, starts its authority and adds partner networks, nodes, agents, treaties, attestations, policies and decisions. The keys are public and the same every time; do not expose the network. Runs until it is stopped.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Empty folder for the network', default: './demo' },
      { flags: '--port <n>', summary: 'Port of the authority, on this machine only', default: '8443' },
      { flags: '--nodes <n>', summary: 'Number of nodes, 1 to 2000', default: '200' },
      {
        flags: '--two',
        summary: 'Two companies instead: a bank with a service, and a freight company with an agent that calls it',
      },
    ],
    examples: [
      { line: 'chancery demo --home ./demo', summary: 'Start it, then open http://127.0.0.1:8443/ in a browser' },
      {
        line: 'chancery demo --two --home ./two',
        summary: 'Start two companies and a service on three ports, and print what to try next',
      },
    ],
    needs: 'nothing',
  },
]
