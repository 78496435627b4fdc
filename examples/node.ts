/**
 * A node: it joins the network once and then renews its membership automatically.
 *
 *   NA_URL      address of the authority, or several with commas between them
 *   GENESIS     the genesis block, from a trusted source: it names the authority of this node
 *   NODE_HOME   folder of this node; its key never leaves the machine
 *   INVITE      from `chancery invite create`; needed the first time only
 */
import { joinNetwork } from '@chancery/sdk'
import { FileNodeStore, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env

const node = await joinNetwork({
  url: NA_URL.split(','),
  genesis: await readGenesisFile(GENESIS),
  // Stores key, certificate and lists. After a restart this is the same node, and no invite is needed.
  store: new FileNodeStore(NODE_HOME),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})

const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.once('SIGINT', () => stop.abort())

// The node now sends heartbeats at the interval that the authority sets, and renews its certificate before it expires.
// It never rejects: it resolves with the reason of its end. Temporary failures are retried.
const end = await node.run({
  signal: stop.signal,
  // Only for a program that uses the revocation list. A heartbeat says when the own certificate is revoked.
  followRevocations: true,
  onEvent: (event) => {
    if (event.type === 'started') {
      const { cert_id, roles } = event.certificate
      console.log(`${event.resumed ? 'resumed' : 'joined'} as ${cert_id}, roles ${roles.join(' ')}`)
    }
    if (event.type === 'heartbeat') console.log(`heartbeat, next in ${event.nextSeconds} s`)
    if (event.type === 'renewed') console.log(`renewed until ${event.certificate.expires_at}`)
    if (event.type === 'revocations') console.log(`revocation list ${event.list.sequence}`)
    if (event.type === 'policy') console.log(`policy ${event.policy.policy_id}`)
    if (event.type === 'failed') console.log(`${event.action} failed: ${event.error.message}`)
  },
})

// A revoked certificate is permanent: the node stops and prints the reason.
if (end.reason === 'stopped') console.log('stopped')
else {
  console.error(`ended: ${end.error.message}`)
  process.exitCode = 1
}
