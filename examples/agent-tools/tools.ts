/**
 * The MCP server of HARBOUR. nginx is in front of it. Before a tool runs, the authority of HARBOUR decides about the
 * agent that calls. After it, this server leaves signed evidence.
 *
 *   NA_URL, GENESIS, NODE_HOME   the node of this server, with a role that may ask for its callers
 *   GATEWAY, TOKEN_FILE          the gateway that verifies certificates, and the token for it
 *   EXECUTOR_KEY                 signs executed calls
 *   AUDIENCE                     the name that callers sign: the address of nginx
 *   PORT                         port to listen on
 */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createAuthorizer, createGovernor, joinNetwork } from '@chancery/sdk'
import { createGatewayClient } from '@chancery/sdk/gateway'
import { authInfoOf, governServer } from '@chancery/sdk/mcp'
import { FileNodeStore, FileOutbox, authenticate, readGenesisFile, readSignerFile } from '@chancery/sdk/nodejs'
import { type ToolRequest, callTool, describeServer, tools } from '../mcp-tools/notes.ts'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'harbour/genesis.json', NODE_HOME = 'relay' } = process.env
const { GATEWAY = 'http://127.0.0.1:8445', TOKEN_FILE = 'gateway/caller.token' } = process.env
const { EXECUTOR_KEY = 'executor.key', AUDIENCE = 'http://127.0.0.1:8000', PORT = '9000' } = process.env

const authority = { url: NA_URL, genesis: await readGenesisFile(GENESIS) }
const node = await joinNetwork({ ...authority, store: new FileNodeStore(NODE_HOME) })
void node.run()
const outbox = await FileOutbox.open('outbox')
const executor = { signer: await readSignerFile(EXECUTOR_KEY), id: 'notes' }
const govern = await createGovernor({ decisions: node, authority, outbox, executor })

// A server of the MCP packages has the same registerTool.
type Handler = (given: { readonly name?: string }, context: object) => object | Promise<object>
const handlers = new Map<string, Handler>()
const server = { registerTool: (tool: string, _config: object, handler: Handler) => handlers.set(tool, handler) }
const governed = governServer(server, {
  govern,
  name: 'notes',
  parameters: Object.fromEntries(tools.map(({ name }) => [name, ['name']])),
  // The authority gets attestation and proof of the caller, and checks both again.
  basis: (caller) => {
    if (caller?.attestation === undefined) throw new Error('the caller sent no attestation')
    return { caller }
  },
})
for (const { name: tool } of tools) governed.registerTool(tool, { inputSchema: {} }, (given) => callTool(tool, given))

const gateway = createGatewayClient({
  url: GATEWAY,
  token: async () => (await readFile(TOKEN_FILE, 'utf8')).trim(),
})

// The proof is checked again: nginx did not send the body to the gateway, so this server compares its digest.
const authorizer = createAuthorizer({ audience: AUDIENCE, trust: gateway })
const handle = authenticate(authorizer, async (_request, response, { caller, body }) => {
  const { id, method, params } = JSON.parse(body.toString('utf8')) as ToolRequest
  const send = (answer: object): unknown =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  if (id === undefined) return response.writeHead(202).end()
  if (method !== 'tools/call') return send({ result: describeServer(method) })
  const call = handlers.get(params?.name ?? '')
  if (call === undefined) return send({ error: { code: -32_602, message: 'Unknown tool.' } })
  try {
    return send({ result: await call(params?.arguments ?? {}, { http: { authInfo: authInfoOf(caller) } }) })
  } catch (error) {
    // No decision, so the tool did not run.
    console.log('no decision:', error)
    return send({ error: { code: -32_603, message: 'The tool was not called: there is no decision.' } })
  }
})
// The proof and the attestation are in the header fields of a request.
const listening = createServer({ maxHeaderSize: 24_576 }, handle)
listening.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on 127.0.0.1:${PORT}`))

process.once('SIGTERM', () => {
  listening.close()
  listening.closeAllConnections()
  void govern.close().then(() => outbox.close())
  void node.stop()
})
