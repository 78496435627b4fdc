/**
 * An MCP server with two tools, at standard input and output. It needs no package, so that you can read all of it.
 * Servers made with the official packages work in the same way.
 */
import { createInterface } from 'node:readline'

interface Request {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly name?: string; readonly arguments?: { readonly name?: string } }
}

const notes = new Map([['todo', 'Buy milk.']])
const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const tools = [
  { name: 'read_note', description: 'Reads a note.', inputSchema },
  { name: 'delete_note', description: 'Deletes a note.', inputSchema },
]

function resultOf({ method, params }: Request): object {
  if (method === 'initialize')
    return {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'notes', version: '1.0.0' },
    }
  if (method === 'tools/list') return { tools }
  if (method !== 'tools/call') return {}
  const name = params?.arguments?.name ?? ''
  const text = params?.name === 'delete_note' ? `Deleted: ${notes.delete(name)}` : (notes.get(name) ?? 'No such note.')
  return { content: [{ type: 'text', text }] }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line) as Request
  if (request.id === undefined) return
  const response = { jsonrpc: '2.0', id: request.id, result: resultOf(request) }
  process.stdout.write(`${JSON.stringify(response)}\n`)
})
