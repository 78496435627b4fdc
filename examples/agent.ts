/**
 * An agent that finds a peer: it registers its capabilities, searches for an agent with another capability, and verifies
 * that agent before it calls.
 *
 *   NA_URL, GENESIS, NODE_HOME, INVITE   as in node.ts
 *   OFFERS   a capability this agent has
 *   WANTS    a capability it needs
 */
import { Node, verifyAgent } from '@chancery/sdk'
import { FileNodeStore, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env
const { OFFERS = 'translate', WANTS = 'print' } = process.env

const genesis = await readGenesisFile(GENESIS)
const node = await Node.join({
  url: NA_URL,
  genesis,
  store: new FileNodeStore(NODE_HOME),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
  // Registered as long as the node runs, and removed when it stops.
  agent: {
    agent_id: `agent-${OFFERS}`,
    capabilities: [OFFERS],
    endpoint: { host: `${OFFERS}.example.org`, port: 443, scheme: 'https' },
  },
})
node.on('announced', ({ expires_at }) => console.log(`registered ${OFFERS} until ${expires_at}`))
node.on('actionFailed', ({ action, error }) => console.log(`${action} failed: ${error.message}`))

const peer = await findPeer()
console.log(
  `found ${peer.agent_id} at ${peer.endpoint.scheme ?? 'https'}://${peer.endpoint.host}:${peer.endpoint.port}`,
)

// Every request to the peer is signed by this node. The peer verifies it as in relying-service.ts.
const call = node.fetchAs(`https://${peer.endpoint.host}`)
console.log(typeof call === 'function' ? 'ready to call' : '')
await node.stop()

/** Searches until an agent has the capability. It trusts the signature of the agent, not the registry. */
async function findPeer() {
  for (;;) {
    for await (const descriptor of node.client.agents.searchAll(WANTS)) {
      const verdict = await verifyAgent(descriptor, { genesis, now: BigInt(Date.now()) * 1000n })
      if (verdict.ok) return descriptor
      console.log(`${descriptor.agent_id} is not valid: ${verdict.reason}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
