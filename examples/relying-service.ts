/**
 * A service that lets only members of a network in. It asks nobody while it serves: certificates are judged by pinned
 * keys and the revocation list it keeps.
 *
 *   NA_URL, GENESIS   as in node.ts
 *   AUDIENCE          the name this service goes by; callers prove that they mean this one
 *   PORT              where it listens; any free port when it is 0
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RelyingParty, createClient } from '@chancery/sdk'
import { httpNodeProof, readGenesisFile } from '@chancery/sdk/node'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json' } = process.env
const { AUDIENCE = 'https://print.example.org', PORT = '0' } = process.env

const now = (): bigint => BigInt(Date.now()) * 1000n
const genesis = await readGenesisFile(GENESIS)
const client = createClient({ url: NA_URL })

// The first list comes from the authority; its signature is checked against the key of the genesis block.
const crl = await client.crl.current()
const trust = await RelyingParty.open({
  network: genesis.network_name,
  anchors: { [crl.issuer]: genesis.network_authority.public_key },
  crl,
  required_roles: ['role:client'],
})

// A newer list replaces it, never an older one and never another of the same number. When none can be had for too long,
// the list in force ends, and nobody is let in any more.
const refresh = setInterval(() => void follow().catch((error: unknown) => console.log('no list:', error)), 30_000)
async function follow(): Promise<void> {
  const verdict = await trust.install(await client.crl.scanned(), now())
  if (!verdict.ok) console.log(`the list is not taken: ${verdict.reason}`)
}
process.on('SIGHUP', () => void follow())

const guard = {
  audience: AUDIENCE,
  trust,
  onRefusal: (reason: string, decision?: { readonly reasons: readonly string[] }) =>
    console.log(`refused: ${reason} ${decision?.reasons.join(', ') ?? ''}`.trim()),
}
// Express, Fastify and Hono have the same: expressNodeProof, fastifyNodeProof, honoNodeProof.
const server = createServer(
  httpNodeProof(guard, ({ node, method, url }, response) => {
    console.log(`${method} ${url} by ${node.certificate.cert_id}`)
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ hello: node.publicKey, roles: node.roles }))
  }),
)
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

process.once('SIGTERM', () => {
  clearInterval(refresh)
  server.close()
  server.closeAllConnections()
})
