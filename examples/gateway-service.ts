/**
 * A service that its gateway protects. The library verifies that the caller has its key and that the request is new. The
 * gateway verifies the certificate: issuer, validity, roles and revocation.
 *
 *   GATEWAY      address of the gateway
 *   TOKEN_FILE   caller token that `chancery gateway init` wrote
 *   AUDIENCE     name of this service; callers sign it with each request
 *   HOST, PORT   address to listen on
 */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createAuthorizer } from '@chancery/sdk'
import { createGatewayClient } from '@chancery/sdk/gateway'
import { authenticate } from '@chancery/sdk/nodejs'

const { GATEWAY = 'http://127.0.0.1:8080', TOKEN_FILE = 'gateway/caller.token' } = process.env
const { HOST = '127.0.0.1', PORT = '8444' } = process.env
const { AUDIENCE = `http://127.0.0.1:${PORT}` } = process.env

// The file is read for each call, so that a new token needs no restart.
const gateway = createGatewayClient({
  url: GATEWAY,
  token: async () => (await readFile(TOKEN_FILE, 'utf8')).trim(),
})

const authorizer = createAuthorizer({
  audience: AUDIENCE,
  // When the gateway does not respond, the request gets 503.
  trust: gateway,
  onRefusal: (refusal) => {
    const reasons = 'reasons' in refusal ? refusal.reasons : 'reason' in refusal ? [refusal.reason] : []
    console.log(`refused: ${refusal.code} ${reasons.join(', ')}`.trim())
  },
})
const server = createServer(
  authenticate(authorizer, ({ method, url }, response, { caller }) => {
    console.log(`allowed: ${method} ${url} by ${caller.certificate.cert_id}`)
    response.end(`stock: 12 pallets\n`)
  }),
)
server.listen(Number(PORT), HOST, () => console.log(`listening on ${HOST}:${PORT}`))

process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
