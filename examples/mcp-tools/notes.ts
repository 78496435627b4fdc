/** Two tools for the examples, described and called as the Model Context Protocol does it. It needs no package. */
const NOTES: Readonly<Record<string, string>> = { todo: 'Buy milk.', salaries: 'Alice 50,000, Bob 48,000.' }
const notes = new Map(Object.entries(NOTES))

const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
export const tools = [
  { name: 'read_note', description: 'Reads a note.', inputSchema },
  { name: 'delete_note', description: 'Deletes a note.', inputSchema },
]

export interface ToolRequest {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly name?: string; readonly arguments?: { readonly name?: string } }
}

/** Returns the result of a tool. */
export function callTool(tool: string | undefined, { name = '' }: { readonly name?: string } = {}): object {
  const text = tool === 'delete_note' ? `Deleted: ${notes.delete(name)}` : (notes.get(name) ?? 'No such note.')
  return { content: [{ type: 'text', text }] }
}

/** Returns the result of a request that calls no tool. */
export function describeServer(method: string | undefined): object {
  if (method === 'tools/list') return { tools }
  if (method !== 'initialize') return {}
  const serverInfo = { name: 'notes', version: '1.0.0' }
  return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
}
