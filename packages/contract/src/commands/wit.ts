import type { Command } from './command.ts'
import { NODE_HOME_OPTION } from './enrollment.ts'

export const witCommands: readonly Command[] = [
  {
    path: ['wit'],
    summary: 'Print a WIMSE token and the proof of one request',
    description:
      'Gets a workload identity token for the certificate of the node, and prints the header fields that prove one request with it. The fields are valid for 60 seconds.',
    arguments: [],
    options: [
      NODE_HOME_OPTION,
      { flags: '--audience <name>', summary: 'Name of the service, by custom its origin', required: true },
      { flags: '--request-url <url>', summary: 'Address of the request; default: the audience' },
      { flags: '--method <name>', summary: 'Method of the request', default: 'GET' },
      { flags: '--body <file>', summary: 'Body of the request, which is signed' },
      {
        flags: '--header <name=value>',
        summary: 'Another field of the request; content-type and authorization are signed',
        repeatable: true,
      },
    ],
    examples: [
      {
        line: 'chancery wit --home ./node --audience https://print.example --request-url https://print.example/jobs?page=1 > headers.txt',
        summary: 'Then: curl --header @headers.txt https://print.example/jobs?page=1',
      },
    ],
    needs: 'node',
  },
]
