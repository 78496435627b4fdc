import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { TestCa } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { callUrl } from '@chancery/service-kit'

const ca = new TestCa()
const leaf = ca.issue('keys')
let server: Server
let url: URL
beforeAll(async () => {
  server = createServer({ cert: leaf.cert, key: leaf.key }, (_request, response) => response.end('{}'))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)
})
afterEach(() => vi.unstubAllEnvs())
afterAll(() => {
  server.close()
  ca.remove()
})

// Key sets are trusted because of TLS only, and the collector receives a token.
it('refuses a certificate of an unknown authority under any environment variables', async () => {
  const call = { url, timeoutMs: 5000, maxBytes: 100 }
  expect((await callUrl({ ...call, extraRoots: [ca.cert] })).status).toBe(200)
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  await expect(callUrl(call)).rejects.toMatchObject({ kind: 'unreachable' })
})
