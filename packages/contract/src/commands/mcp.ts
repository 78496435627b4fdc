import type { Command, CommandArgument, CommandOption } from './command.ts'
import { NODE_HOME_OPTION } from './enrollment.ts'

const SERVER_COMMAND: CommandArgument = {
  name: 'command',
  summary: 'Command of the server and its arguments, after --',
  required: false,
  variadic: true,
}

const SERVER_OPTIONS: readonly CommandOption[] = [
  NODE_HOME_OPTION,
  { flags: '--server <name>', summary: 'Name of the server in capabilities: mcp:<name>:<tool>' },
  { flags: '--rules <file>', summary: 'Rules file; default: mcp.yaml in the folder of the node' },
  { flags: '--upstream <url>', summary: 'Address of a server that is reached by HTTP' },
  { flags: '--prove <audience>', summary: 'With --upstream: prove each request to the server of this name' },
]

export const mcpCommands: readonly Command[] = [
  {
    path: ['mcp', 'guard'],
    summary: 'Put a gate in front of an MCP server',
    description:
      'Passes messages of the Model Context Protocol between a client and a server. Each tool call and each read of a resource or prompt needs a decision of the authority, and leaves signed evidence; a denied call returns a result that a model understands. Over HTTP, clients send the secret of the file that the guard names at its start.',
    arguments: [SERVER_COMMAND],
    options: [
      ...SERVER_OPTIONS,
      {
        flags: '--listen <address>',
        summary: 'With --upstream: loopback address and port for clients',
        default: '127.0.0.1:9000',
      },
    ],
    examples: [
      {
        line: 'chancery mcp guard --home ./agent --server files --rules guard.yaml -- npx some-mcp-server ./data',
        summary: 'Guard a server that the guard starts',
      },
      {
        line: 'chancery mcp guard --listen 127.0.0.1:9000 --upstream https://tools.example/mcp --home ./agent',
        summary: 'Guard a server that is reached by HTTP',
      },
    ],
    needs: 'node',
  },
  {
    path: ['mcp', 'pin'],
    summary: 'Approve the tools of an MCP server',
    description:
      'Asks a server for its tools and stores a digest of each description and schema. A guard refuses a tool whose digest is not stored. Run it again after a change that you reviewed.',
    arguments: [SERVER_COMMAND],
    options: SERVER_OPTIONS,
    examples: [
      {
        line: 'chancery mcp pin --home ./agent --server files --rules guard.yaml -- npx some-mcp-server ./data',
        summary: 'Approve the tools as they are now',
      },
    ],
    needs: 'node',
  },
]
