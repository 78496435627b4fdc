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
import { createAuthorizer, trustNetworks } from '@chancery/sdk'
import { authenticate, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json' } = process.env
const { AUDIENCE = 'https://print.example.org', PORT = '0' } = process.env

// Fetches the first list from the authority and verifies its signature with the key of the genesis block. Then it
// refreshes keys and lists every 30 seconds. Only a newer list replaces the current one. When no new list arrives, the
// current list expires and requests get 503. A new key of the authority is accepted when the root key signed it.
const trust = await trustNetworks([{ url: NA_URL, genesis: await readGenesisFile(GENESIS), roles: ['role:client'] }], {
  onError: (error) => console.log('no list:', error),
})
// onError gets the failure, so it needs no second handler.
process.on('SIGHUP', () => void trust.refresh().catch(() => undefined))

const authorizer = createAuthorizer({
  audience: AUDIENCE,
  trust,
  onRefusal: (refusal) => {
    const reasons = 'reasons' in refusal ? refusal.reasons : 'reason' in refusal ? [refusal.reason] : []
    console.log(`refused: ${refusal.code} ${reasons.join(', ')}`.trim())
  },
})
// Express, Fastify, Hono and web handlers have the same: @chancery/sdk/express, /fastify, /hono, /web.
const server = createServer(
  authenticate(authorizer, ({ method, url }, response, { caller }) => {
    console.log(`${method} ${url} by ${caller.certificate.cert_id}`)
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ hello: caller.publicKey, roles: caller.roles }))
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
