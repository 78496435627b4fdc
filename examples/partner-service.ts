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
import { createAuthorizer, joinNetwork, trustNetworks } from '@chancery/sdk'
import { FileNodeStore, authorize, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env
const { PARTNER_URL = 'http://127.0.0.1:8444', PARTNER_GENESIS = 'partner-genesis.json' } = process.env
const { CAPABILITY = 'ledger.read', PORT = '8445' } = process.env

const node = await joinNetwork({
  url: NA_URL,
  genesis: await readGenesisFile(GENESIS),
  store: new FileNodeStore(NODE_HOME),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})
void node.run()

// Verifies certificates of the partner network with its genesis block and its revocation list, which it refreshes.
const trust = await trustNetworks([{ url: PARTNER_URL, genesis: await readGenesisFile(PARTNER_GENESIS) }], {
  onError: (error) => console.log('no list:', error),
})

const audience = `http://127.0.0.1:${PORT}`
const authorizer = createAuthorizer({
  audience,
  trust,
  decisions: node,
  // The caller learns why it was denied, and what it would need.
  tellCaller: true,
  onRefusal: (refusal) => {
    if (refusal.code === 'denied') console.log(`denied ${refusal.answer.decision.decision_id}`)
  },
})
const handler = authorize(authorizer, CAPABILITY, (_request, response, { answer }) => {
  console.log(`allowed ${answer.decision.decision_id}`)
  response.end('balance 1250')
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
