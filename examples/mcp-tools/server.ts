/**
 * An MCP server with the tools of notes.ts, at standard input and output. It needs no package, so that you can read all
 * of it. Servers made with the official packages work in the same way.
 */
import { createInterface } from 'node:readline'
import { type ToolRequest, callTool, describeServer } from './notes.ts'

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as ToolRequest
  if (id === undefined) return
  const result = method === 'tools/call' ? callTool(params?.name, params?.arguments) : describeServer(method)
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
})
