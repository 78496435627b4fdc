import type { RequestListener } from 'node:http'

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
  readonly StreamableHTTPClientTransport: new (url: URL) => object
  readonly StdioClientTransport: new (options: object) => object
}

export interface OfficialServer {
  registerTool(name: string, config: object, handler: (given: { readonly path?: string }) => ToolResult): void
}

export interface ServerPackage {
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
