/**
 * A service for members of a network only. It needs no network calls while it serves: it verifies certificates with pinned
 * keys and its stored revocation list.
 *
 *   NA_URL, GENESIS   as in node.ts
 *   AUDIENCE          name of this service; callers sign it with each request
 *   PORT              port to listen on; 0 selects a free port
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RefreshingRelyingParty } from '@chancery/sdk'
import { httpNodeProof, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json' } = process.env
const { AUDIENCE = 'https://print.example.org', PORT = '0' } = process.env

// Fetches the first list from the authority and verifies its signature with the key of the genesis block. Then it
// refreshes keys and lists every 30 seconds. Only a newer list replaces the current one. When no new list arrives, the
// current list expires and all requests are refused. A new key of the authority is accepted when the root key signed it.
const trust = await RefreshingRelyingParty.open({
  url: NA_URL,
  genesis: await readGenesisFile(GENESIS),
  required_roles: ['role:client'],
  onError: (error) => console.log('no list:', error),
  onRefresh: ({ keys, lists }) => {
    if (keys !== 'unchanged') console.log(`keys of the authority: ${keys}`)
    for (const [keyId, outcome] of Object.entries(lists))
      if (outcome !== 'current' && outcome !== 'none') console.log(`the list of ${keyId} is refused: ${outcome}`)
  },
})
// onError gets the failure, so it needs no second handler.
process.on('SIGHUP', () => void trust.refresh().catch(() => undefined))

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
  void trust.close()
  server.close()
  server.closeAllConnections()
})
