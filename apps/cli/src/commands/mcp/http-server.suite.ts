import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from './guard-session.suite.ts'

type Answer = (response: ServerResponse, message: Json) => void

export const JSON_TYPE = { 'content-type': 'application/json' }
export const TOOLS = [
  {
    name: 'read',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
  },
  { name: 'write', inputSchema: { type: 'object' } },
]

/** An MCP server reached by HTTP. A test may give its responses to calls and lists. */
class HttpServer {
  answerCall: Answer | undefined
  answerList: Answer | undefined
  readonly seen: { headers: IncomingMessage['headers']; body: string }[] = []
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const message = (body === '' ? {} : JSON.parse(body)) as Json
    const { id, method } = message
    const isOwn = String(id).startsWith('chancery-guard-')
    if (!isOwn) this.seen.push({ headers: request.headers, body })
    const { answerCall, answerList } = this
    if (method === 'tools/call' && answerCall !== undefined) return answerCall(response, message)
    if (method === 'tools/list' && answerList !== undefined && !isOwn) return answerList(response, message)
    if (id === undefined) return void response.writeHead(202).end()
    const result = method === 'tools/list' ? { tools: TOOLS } : { content: [{ type: 'text', text: 'done' }] }
    response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
}

export const upstream = new HttpServer()
