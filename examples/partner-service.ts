/**
 * A service that members of a partner network may call. It verifies who calls, asks the authority of its own network
 * for a decision, and acts only when the decision allows it.
 *
 *   NA_URL, GENESIS, NODE_HOME, INVITE   as in node.ts: the node of this service, with a role that may ask for others
 *   PARTNER_URL, PARTNER_GENESIS         address and genesis block of the partner network
 *   CAPABILITY                           what a caller needs
 *   PORT                                 port to listen on
 */
import { createServer } from 'node:http'
import { Node, RefreshingRelyingParty, callerBasis } from '@chancery/sdk'
import { FileNodeStore, httpNodeProof, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env
const { PARTNER_URL = 'http://127.0.0.1:8444', PARTNER_GENESIS = 'partner-genesis.json' } = process.env
const { CAPABILITY = 'ledger.read', PORT = '8445' } = process.env

const node = await Node.join({
  url: NA_URL,
  genesis: await readGenesisFile(GENESIS),
  store: new FileNodeStore(NODE_HOME),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})

// Verifies certificates of the partner network with its genesis block and its revocation list, which it refreshes.
const trust = await RefreshingRelyingParty.open({
  url: PARTNER_URL,
  genesis: await readGenesisFile(PARTNER_GENESIS),
  onError: (error) => console.log('no list:', error),
})

const audience = `http://127.0.0.1:${PORT}`
const handler = httpNodeProof({ audience, trust }, async (request, response) => {
  if (request.node.attestation === undefined) return void response.writeHead(401).end('attestation required')
  const { decision } = await node.ask(CAPABILITY, callerBasis(request.node))
  console.log(`${decision.authorized ? 'allowed' : 'denied'} ${decision.decision_id}`)
  response.writeHead(decision.authorized ? 200 : 403)
  response.end(decision.authorized ? 'balance 1250' : decision.denial_reason)
})
// The proof and the attestation are in the header fields of a request.
const server = createServer({ maxHeaderSize: 24_576 }, handler)
server.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on ${audience}`))

process.once('SIGTERM', () => {
  void trust.close()
  server.close()
  server.closeAllConnections()
  void node.stop()
})
