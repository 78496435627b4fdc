import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type OfficialServer, loadServerPackage } from './official-packages.ts'

/** An MCP server made with the official packages: `official-server.ts FILE [http]`. Each executed call is a line of FILE. */
const [, , file = '', transport = 'stdio'] = process.argv
const { McpServer, createMcpHandler, fromJsonSchema, serveStdio, toNodeHandler } = await loadServerPackage()

const inputSchema = fromJsonSchema({ type: 'object', properties: { path: { type: 'string' } } })

function makeServer(): OfficialServer {
  const server = new McpServer({ name: 'files', version: '1.0.0' }, { capabilities: { tools: {} } })
  for (const name of ['read', 'fail', 'write'])
    server.registerTool(name, { description: `Does ${name}.`, inputSchema }, ({ path = '' }) => {
      appendFileSync(file, `${name} ${path}\n`)
      return { content: [{ type: 'text', text: `${name} ${path}` }], isError: name === 'fail' }
    })
  return server
}

if (transport === 'http') {
  const server = createServer(toNodeHandler(createMcpHandler(makeServer)))
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
} else serveStdio(makeServer)
