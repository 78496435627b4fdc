import { afterEach, expect, it, vi } from 'vitest'
import type { fetchWithoutRedirect } from './transport.ts'

const Platform = globalThis.Request

/** A runtime such as workerd: its constructor throws for fields that it does not have. */
class EdgeRequest extends Platform {
  constructor(input: string, init: RequestInit = {}) {
    if (init.redirect === 'error' || init.credentials !== undefined) throw new TypeError('not implemented')
    super(input, init)
  }
}

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

async function open(): Promise<typeof fetchWithoutRedirect> {
  vi.resetModules()
  return (await import('./transport.ts')).fetchWithoutRedirect
}

const INIT = { method: 'GET', credentials: 'omit', cache: 'no-store' } as const

it('leaves redirects to a platform that can refuse them', async () => {
  const send = await open()
  const fetch = vi.fn(async () => new Response('x'))
  expect(await (await send(fetch, 'http://a.example', INIT)).text()).toBe('x')
  expect(fetch).toHaveBeenCalledWith('http://a.example', { ...INIT, redirect: 'error' })
})

it('omits fields that the runtime lacks, and refuses a redirect itself', async () => {
  vi.stubGlobal('Request', EdgeRequest)
  const send = await open()
  const answers = [
    new Response('x'),
    new Response(null, { status: 304 }),
    new Response('moved', { status: 307, headers: { Location: 'http://b.example' } }),
  ]
  const fetch = vi.fn(async () => answers.shift() ?? Response.error())
  expect((await send(fetch, 'http://a.example', INIT)).status).toBe(200)
  expect(fetch).toHaveBeenCalledWith('http://a.example', { method: 'GET', cache: 'no-store', redirect: 'manual' })
  expect((await send(fetch, 'http://a.example', INIT)).status).toBe(304)
  await expect(send(fetch, 'http://a.example', INIT)).rejects.toThrow('unexpected redirect')
})
