/**
 * A node: it joins the network once and then renews its membership automatically.
 *
 *   NA_URL      address of the authority, or several with commas between them
 *   GENESIS     the genesis block, from a trusted source: it names the authority of this node
 *   NODE_HOME   folder of this node; its key never leaves the machine
 *   INVITE      from `chancery invite create`; needed the first time only
 */
import { Node } from '@chancery/sdk'
import { FileNodeStore, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env

const node = await Node.join({
  url: NA_URL.split(','),
  genesis: await readGenesisFile(GENESIS),
  // Stores key, certificate and lists. After a restart this is the same node, and no invite is needed.
  store: new FileNodeStore(NODE_HOME),
  // Only for a node that verifies the certificates of others. A heartbeat says when its own is revoked.
  followCrl: true,
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})

// The node now sends heartbeats at the interval that the authority sets, renews its certificate before it expires, and
// updates revocations and policy. These event handlers are optional.
node.on('started', ({ certificate, resumed }) =>
  console.log(`${resumed ? 'resumed' : 'joined'} as ${certificate.cert_id}, roles ${certificate.roles.join(' ')}`),
)
node.on('heartbeat', ({ nextSeconds }) => console.log(`heartbeat, next in ${nextSeconds} s`))
node.on('renewed', ({ certificate }) => console.log(`renewed until ${certificate.expires_at}`))
node.on('crl', ({ crl }) => console.log(`revocation list ${crl.sequence}`))
node.on('policy', ({ policy }) => console.log(`policy ${policy.policy_id}`))
// Temporary failures are retried automatically.
node.on('actionFailed', ({ action, error }) => console.log(`${action} failed: ${error.message}`))

process.once('SIGTERM', () => void node.stop())
process.once('SIGINT', () => void node.stop())

// A revoked certificate is permanent: the node stops and prints the reason.
const error = await node.ended
if (error !== undefined) {
  console.error(`ended: ${error.message}`)
  process.exitCode = 1
} else console.log('stopped')
