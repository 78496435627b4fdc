import { type AddressInfo, createServer } from 'node:net'
import { ALL_ROUTES } from '@chancery/contract'
import { type JsonObject, isJsonObject, readJson } from '@chancery/protocol'
import { type TestAuthority, accepted, freePort, refused, startTestAuthority } from '@chancery/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { bindingsOf } from '../../features.ts'

const postgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

describe('a management listener', () => {
  let na: TestAuthority
  afterEach(() => na.stop())

  async function start(settings: Record<string, string> = {}): Promise<void> {
    na = await startTestAuthority({ settings: { NA_MANAGEMENT_ADDR: '127.0.0.1:0', ...settings } })
  }

  async function inside(path: string): Promise<{ status: number; text: string; json: JsonObject }> {
    const answer = await fetch(`${na.authority.managementUrl}${path}`)
    const text = await answer.text()
    const value = path === '/metrics' ? {} : readJson(text)
    return { status: answer.status, text, json: isJsonObject(value) ? value : {} }
  }

  it('serves metrics and every check of readiness, and health', async () => {
    await start()
    const metrics = await inside('/metrics')
    expect([metrics.status, metrics.text.includes('chancery_issued_certs')]).toEqual([200, true])
    const ready = await inside('/readyz')
    expect(ready.status).toBe(200)
    expect(Object.keys(ready.json).sort()).toEqual(
      ['status', 'instance', 'ha_mode', 'database', 'signing_key', 'rate_limiter', 'db_path'].sort(),
    )
    for (const path of ['/healthz', '/health']) expect((await inside(path)).status, path).toBe(200)
  })

  it('serves nothing else', async () => {
    await start()
    for (const path of ['/', '/crl', '/nodes', '/swagger.json', '/admin/policy/history'])
      expect((await inside(path)).status, path).toBe(404)
  })

  it('leaves the other one without metrics, and with ready or not ready only', async () => {
    await start()
    for (const path of ['/metrics', '/%6detrics', '/metric%73'])
      refused(await na.request('GET', path), 404, 'not_found')
    expect(accepted(await na.request('GET', '/readyz'))).toEqual({ status: 'ready' })
    na.authority.turnNotReady()
    expect(refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')['details']).toEqual({})
    const logged = (await inside('/readyz')).json['error'] as JsonObject
    expect(logged['details']).toMatchObject({ database: { writable: true } })
  })

  it('is listed in the reference of the public listener, which names the routes it really serves', async () => {
    await start()
    const { paths } = accepted(await na.request('GET', '/swagger.json')) as { paths: JsonObject }
    expect(Object.keys(paths)).not.toContain('/metrics')
    expect(Object.keys(paths)).toContain('/readyz')
    expect(bindingsOf(na.features, na.settings).open).toHaveLength(ALL_ROUTES.length - 1)
  })

  it('that cannot listen stops the start and names its setting', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as AddressInfo
    await start()
    const open = await freePort()
    const settings = { PORT: String(open), NA_MANAGEMENT_ADDR: `127.0.0.1:${port}` }
    await expect(startTestAuthority({ settings })).rejects.toThrow(
      `NA_MANAGEMENT_ADDR: ${port} is in use on 127.0.0.1: stop what listens there, or choose another port`,
    )
    await expect(fetch(`http://127.0.0.1:${open}/healthz`)).rejects.toThrow('fetch failed')
    taken.close()
  })

  it('is closed when the other one cannot listen', async () => {
    await start()
    const [inside, taken] = [await freePort(), Number(new URL(na.url).port)]
    const settings = { PORT: String(taken), NA_MANAGEMENT_ADDR: `127.0.0.1:${inside}` }
    await expect(startTestAuthority({ settings })).rejects.toThrow(`PORT: ${taken} is in use on 127.0.0.1`)
    await expect(fetch(`http://127.0.0.1:${inside}/healthz`)).rejects.toThrow('fetch failed')
  })

  it('on an address of another machine stops the start with an error', async () => {
    await start()
    const settings = { NA_MANAGEMENT_ADDR: '192.0.2.1:0' }
    await expect(startTestAuthority({ settings })).rejects.toThrow('it is not an address of this machine')
  })
})

describe('without a management listener', () => {
  it('only callers on the same machine get the location of the database', async () => {
    const na = await startTestAuthority({ settings: { NA_PROXY_HOPS: '1' } })
    const ask = (address: string) => na.request('GET', '/readyz', { headers: { 'X-Forwarded-For': address } })
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      expect(accepted(await ask(address)), address).toHaveProperty('db_path')
    const place = postgres ? 'postgres@' : String(accepted(await ask('127.0.0.1'))['db_path'])
    for (const address of ['192.0.2.7', '10.0.0.1', '2001:db8::1']) {
      const answer = await ask(address)
      expect(accepted(answer), address).not.toHaveProperty('db_path')
      expect(answer.text, address).not.toContain(place)
    }
    await na.stop()
  })

  it('callers through an unnamed proxy on this machine do not get it', async () => {
    const na = await startTestAuthority()
    for (const name of ['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via']) {
      const answer = await na.request('GET', '/readyz', { headers: { [name]: '127.0.0.1' } })
      expect(accepted(answer), name).not.toHaveProperty('db_path')
    }
    expect(accepted(await na.request('GET', '/readyz'))).toHaveProperty('db_path')
    await na.stop()
  })
})
