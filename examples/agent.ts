/**
 * An agent that finds a peer: it registers its capabilities, searches for an agent with another capability, and verifies
 * that agent before it calls.
 *
 *   NA_URL, GENESIS, NODE_HOME, INVITE   as in node.ts
 *   OFFERS   a capability this agent has
 *   WANTS    a capability it needs
 */
import { joinNetwork, verifyAgent } from '@chancery/sdk'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { FileNodeStore, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env
const { OFFERS = 'translate', WANTS = 'print' } = process.env

const genesis = await readGenesisFile(GENESIS)
const node = await joinNetwork({
  url: NA_URL,
  genesis,
  store: new FileNodeStore(NODE_HOME),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})
// Registered as long as the node runs, and removed when it stops.
void node.run({
  agent: {
    agent_id: `agent-${OFFERS}`,
    capabilities: [OFFERS],
    endpoint: { host: `${OFFERS}.example.org`, port: 443, scheme: 'https' },
  },
  onEvent: (event) => {
    if (event.type === 'registered') console.log(`registered ${OFFERS} until ${event.expiresAt}`)
    if (event.type === 'failed') console.log(`${event.action} failed: ${event.error.message}`)
  },
})

const peer = await findPeer()
const { host, port, scheme = 'https' } = peer.endpoint
console.log(`found ${peer.agent_id} at ${scheme}://${host}:${port}`)

// Every request to the peer is signed by this node. The peer verifies it as in relying-service.ts.
console.log(typeof node.fetch === 'function' ? 'ready to call' : '')
await node.stop()

/** Searches until an agent has the capability. It trusts the signature of the agent, not the registry. */
async function findPeer() {
  const { agents } = createAuthorityClient({ url: NA_URL })
  for (;;) {
    for await (const descriptor of agents.searchAll(WANTS)) {
      const verdict = await verifyAgent(descriptor, { genesis })
      if (verdict.valid) return verdict.record
      console.log(`${descriptor.agent_id} is not valid: ${verdict.reason}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
