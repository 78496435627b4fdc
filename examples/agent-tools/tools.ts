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
import { GovernedActionRunner, Node, callerBasis, createGatewayClient, pinAttestation } from '@chancery/sdk'
import type { JoinCertificate } from '@chancery/sdk'
import { governTools, mcpCaller, mcpNodeProof } from '@chancery/sdk/mcp'
import { FileNodeStore, FileOutbox, readGenesisFile, readSignerFile } from '@chancery/sdk/nodejs'
import { type ToolRequest, callTool, describeServer, tools } from '../mcp-tools/notes.ts'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'harbour/genesis.json', NODE_HOME = 'relay' } = process.env
const { GATEWAY = 'http://127.0.0.1:8445', TOKEN_FILE = 'gateway/caller.token' } = process.env
const { EXECUTOR_KEY = 'executor.key', AUDIENCE = 'http://127.0.0.1:8000', PORT = '9000' } = process.env

const store = new FileNodeStore(NODE_HOME)
const node = await Node.join({ url: NA_URL, genesis: await readGenesisFile(GENESIS), store })
const outbox = await FileOutbox.open('outbox')
const executor = { signer: await readSignerFile(EXECUTOR_KEY), sovereignId: 'notes' }
const runner = await GovernedActionRunner.open({ client: node.client, ask: 'node', node, outbox, executor })

const govern = governTools({
  runner,
  server: 'notes',
  authorityKeys: node.keys,
  // The authority gets attestation and proof of the caller, and checks both again.
  basis: (context) => {
    const caller = mcpCaller(context)
    if (caller?.attestation === undefined) throw new Error('the caller sent no attestation')
    return { request: callerBasis(caller), expectedAttestation: pinAttestation(caller.attestation) }
  },
})
const handlers = new Map(
  tools.map(({ name: tool }) => {
    const handler = (given: { readonly name?: string }, _context: object): object => callTool(tool, given)
    return [tool, govern(tool, handler, { parameters: ['name'] })] as const
  }),
)

const gateway = createGatewayClient({
  url: GATEWAY,
  token: async () => (await readFile(TOKEN_FILE, 'utf8')).trim(),
})
const trust = { evaluate: (certificate: JoinCertificate) => gateway.verify(certificate) }

// The proof is checked again: nginx did not send the body to the gateway, so this server compares its digest.
const handle = mcpNodeProof({ audience: AUDIENCE, trust }, async (request, response, body) => {
  const { id, method, params } = body as ToolRequest
  const send = (answer: object): unknown =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  if (id === undefined) return response.writeHead(202).end()
  if (method !== 'tools/call') return send({ result: describeServer(method) })
  const call = handlers.get(params?.name ?? '')
  if (call === undefined) return send({ error: { code: -32_602, message: 'Unknown tool.' } })
  try {
    return send({ result: await call(params?.arguments ?? {}, { http: { authInfo: request.auth } }) })
  } catch (error) {
    // No decision, so the tool did not run.
    console.log('no decision:', error)
    return send({ error: { code: -32_603, message: 'The tool was not called: there is no decision.' } })
  }
})
// The proof and the attestation are in the header fields of a request.
const server = createServer({ maxHeaderSize: 24_576 }, handle)
server.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on 127.0.0.1:${PORT}`))

process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  void runner.stop().then(() => outbox.close())
  void node.stop()
})
