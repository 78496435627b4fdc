import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/**
 * The parts of the official MCP packages that the tests use. The packages are loaded by name, so that the sources
 * compile where they are not installed; a test that needs them fails there.
 */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[]
  readonly isError?: boolean
}

export interface OfficialClient {
  connect(transport: object): Promise<void>
  close(): Promise<void>
  getNegotiatedProtocolVersion(): string | undefined
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  callTool(call: { readonly name: string; readonly arguments: object }): Promise<ToolResult>
}

export interface ClientPackage {
  readonly Client: new (info: object, options: object) => OfficialClient
  readonly StreamableHTTPClientTransport: new (url: URL, options?: object) => object
  readonly StdioClientTransport: new (options: object) => object
}

export interface OfficialServer {
  registerTool(name: string, config: object, handler: (given: { readonly path?: string }) => ToolResult): void
}

/** What a handler of a server may do besides returning a result. */
export interface HandlerContext {
  readonly http?: { readonly closeSSE?: () => void }
  readonly mcpReq: {
    readonly _meta?: Readonly<Record<string, unknown>>
    readonly log: (level: string, data: unknown) => Promise<void>
    readonly notify: (notification: object) => Promise<void>
    readonly requestSampling: (params: object) => Promise<object>
    readonly elicitInput: (params: object) => Promise<{ readonly action: string; readonly content?: object }>
  }
}

export interface HandledRequest {
  readonly params: {
    readonly name?: string
    readonly uri?: string
    readonly arguments?: Readonly<Record<string, string>>
  }
}

export interface LowLevelServer {
  setRequestHandler(
    method: string,
    handle: (request: HandledRequest, context: HandlerContext) => object | Promise<object>,
  ): void
  connect(transport: object): Promise<void>
}

export interface SessionTransport {
  handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void>
}

export interface ServerPackage {
  readonly Server: new (info: object, options: object) => LowLevelServer
  readonly NodeStreamableHTTPServerTransport: new (options: object) => SessionTransport
  readonly localhostAllowedHostnames: () => string[]
  readonly validateHostHeader: (host: string | undefined, allowed: readonly string[]) => { readonly ok: boolean }
  readonly McpServer: new (info: object, options: object) => OfficialServer
  readonly createMcpHandler: (make: () => OfficialServer) => object
  readonly fromJsonSchema: (schema: object) => object
  readonly serveStdio: (make: () => OfficialServer) => void
  readonly toNodeHandler: (handler: object) => RequestListener
}

export async function loadClientPackage(): Promise<ClientPackage> {
  return (await loadAll('@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio')) as ClientPackage
}

export async function loadServerPackage(): Promise<ServerPackage> {
  const names = ['@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio', '@modelcontextprotocol/node']
  return (await loadAll(...names)) as ServerPackage
}

async function loadAll(...names: readonly string[]): Promise<unknown> {
  const modules = await Promise.all(names.map((name) => import(name) as Promise<object>))
  return Object.assign({}, ...modules) as unknown
}
