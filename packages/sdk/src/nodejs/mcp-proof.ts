import type { IncomingMessage, ServerResponse } from 'node:http'
import { type McpAuthInfo, ORIGIN_ERROR, type OriginOptions, isAllowedOrigin, toAuthInfo } from '../mcp/proof.ts'
import { type HttpRequestVerifierOptions, type SignedMessage, httpNodeProof } from './node-proof.ts'

/** An MCP handler for node:http, such as `toNodeHandler(createMcpHandler(factory))`. */
export type McpNodeHandler = (
  request: IncomingMessage & { auth?: McpAuthInfo },
  response: ServerResponse,
  parsedBody?: unknown,
) => unknown

/** For node:http: `createServer(mcpNodeProof(options, toNodeHandler(createMcpHandler(factory))))`. */
export function mcpNodeProof(
  { allowedOrigins = [], ...options }: HttpRequestVerifierOptions & OriginOptions,
  handler: McpNodeHandler,
): (request: IncomingMessage, response: ServerResponse) => void {
  const checked = httpNodeProof(options, async (request, response) => {
    const body = readBody(request)
    if (body === undefined) return sendJson(response, 400, PARSE_ERROR)
    await handler(Object.assign(request, { auth: toAuthInfo(request.node) }), response, ...body)
  })
  return (request, response) => {
    if (isAllowedOrigin(request.headers.origin, allowedOrigins)) checked(request, response)
    else sendJson(response, 403, ORIGIN_ERROR)
  }
}

const PARSE_ERROR = { jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'The body is not JSON.' } }

/** Returns the arguments for the handler: none without a body, since the body was consumed; undefined if not JSON. */
function readBody({ rawBody }: SignedMessage): [] | [unknown] | undefined {
  if (rawBody.length === 0) return []
  try {
    return [JSON.parse(rawBody.toString('utf8')) as unknown]
  } catch {
    return undefined
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
