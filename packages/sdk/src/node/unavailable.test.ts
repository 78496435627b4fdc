import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestAuthority, createInvite, startTestAuthority } from '@chancery/testkit'
import fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RefusedError, RevokedError, UnreachableError } from '../errors.ts'
import { authenticate } from '../servers/express.ts'
import { authenticate as authenticateHttp } from '../nodejs/node-http.ts'
import { createAuthorizer } from '../request-proof/authorizer.ts'
import type { Refusal } from '../request-proof/refusal.ts'
import { type StartedNode, startNode } from '../testing/started-node.suite.ts'
import { MemoryNodeStore } from './followed.ts'

/** What a program sees, and its callers, when the node cannot get a decision. */
let na: TestAuthority
let node: StartedNode
let aheadSeconds: bigint
let close: (() => unknown) | undefined
beforeEach(async () => {
  na = await startTestAuthority({ backend: 'sqlite', settings: { NA_NODE_DECISIONS: 'own' } })
  aheadSeconds = 0n
  node = await startNode({
    url: na.url,
    genesis: na.genesis,
    store: new MemoryNodeStore(),
    invite: () => createInvite(na),
    clock: () => BigInt(Date.now()) * 1000n + aheadSeconds * 1_000_000n,
    retry: false,
  })
})
afterEach(async () => {
  close?.()
  await node.stop()
  await na.stop()
})

const ask = (): Promise<unknown> => node.ask('x.y', { attestation: crypto.randomUUID() })

async function serve(handle: RequestListener): Promise<string> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => server.close()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

type Handler = (request: never, response: never, next: (error?: unknown) => void) => unknown
async function express(...handlers: readonly Handler[]): Promise<string> {
  // Without types: they are a separate package.
  const name = 'express'
  const { default: make } = (await import(name)) as { default: () => RequestListener & { use(h: Handler): void } }
  const app = make()
  for (const handler of handlers) app.use(handler)
  return serve(app)
}

it('names the clock when it may be the reason of a refused signature', async () => {
  aheadSeconds = 600n
  const error = await ask().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RefusedError)
  expect(error).toMatchObject({ code: 'node_auth_failed', clockOffsetSeconds: expect.any(Number) })
  expect((error as Error).message).toMatch(
    /The clock of this machine is (599|600|601) s ahead of that of the service\./,
  )
})

it('throws RevokedError for a revoked node, and ends with it', async () => {
  await na.as('privileged')('POST', '/admin/revoke', { cert_id: node.certificate.cert_id })
  await expect(ask()).rejects.toBeInstanceOf(RevokedError)
  await expect(ask()).rejects.toMatchObject({ name: 'RevokedError', code: 'certificate_revoked', entry: undefined })
})

describe('with an authority that does not respond', () => {
  beforeEach(() => na.stop())

  const STACK = /node_modules|\bat .+:\d+:\d+/
  it('Express answers 503 without a stack for an error that the program does not handle', async () => {
    await expect(ask()).rejects.toBeInstanceOf(UnreachableError)
    const response = await fetch(await express(ask))
    expect(response.status).toBe(503)
    expect(await response.text()).not.toMatch(STACK)
  })

  it('Fastify answers 503', async () => {
    const app = fastify()
    app.get('/', ask)
    close = () => app.close()
    expect((await fetch(await app.listen({ port: 0, host: '127.0.0.1' }))).status).toBe(503)
  })

  it.each(['express', 'node:http'])(
    'the middleware of %s answers 503 when it cannot ask about a certificate',
    async (name) => {
      const codes: string[] = []
      const audience = 'https://service.example'
      const trust = { evaluate: () => ask() as Promise<never> }
      const authorizer = createAuthorizer({ audience, trust, onRefusal: ({ code }: Refusal) => codes.push(code) })
      const reached: string[] = []
      const url =
        name === 'express'
          ? await express(authenticate(authorizer) as Handler, () => reached.push('handler'))
          : await serve(authenticateHttp(authorizer, () => void reached.push('handler')))
      const response = await node.fetchWith({ audience })(url)
      const text = await response.text()
      expect(response.headers.get('Retry-After')).toBe('5')
      expect([response.status, codes, reached]).toEqual([503, ['trust_unavailable'], []])
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'trust_unavailable' } })
    },
  )
})
