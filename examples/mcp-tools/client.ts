/**
 * Starts the command of its arguments as an MCP server, calls two tools and prints what a model would read:
 *
 *   node client.ts chancery agent guard-mcp --home ./agent --server notes -- node server.ts
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [, , command = '', ...args] = process.argv
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]()

async function ask(id: number, method: string, params: object): Promise<{ result?: object; error?: object }> {
  server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  const { value, done } = await lines.next()
  if (done === true) throw new Error('the server ended')
  return JSON.parse(value) as { result?: object; error?: object }
}

const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'example', version: '1.0.0' } }
await ask(1, 'initialize', hello)
const list = (await ask(2, 'tools/list', {})).result as { tools: { name: string }[] }
console.log('tools:', list.tools.map(({ name }) => name).join(', '))
for (const [at, name] of ['read_note', 'delete_note'].entries()) {
  const { result, error } = await ask(3 + at, 'tools/call', { name, arguments: { name: 'todo' } })
  const { content } = (result ?? { content: [] }) as { content: { text: string }[] }
  console.log(`${name}:`, content[0]?.text ?? JSON.stringify(error))
}
server.stdin.end()
