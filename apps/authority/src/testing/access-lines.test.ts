import { once } from 'node:events'
import { connect } from 'node:net'
import type { JsonObject } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import { accepted, enroll, nodeCaller, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { GraphCache } from '../features/connectome/graph-cache.ts'

let na: TestAuthority
const lines: JsonObject[] = []
beforeAll(async () => {
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as JsonObject) }
  const log = createLog({ level: 'info', format: 'json', destination })
  na = await startTestAuthority({ log, settings: { NA_INSTANCE_ID: 'na-7' } })
})
afterAll(() => na.stop())

/** The log line about the request with this id. */
function lineOf(requestId: string | string[] | undefined): JsonObject | undefined {
  const found = lines.filter((line) => line['event'] === 'request' && line['request_id'] === requestId)
  expect(found.length, String(requestId)).toBe(1)
  return found[0]
}

describe('the log line about a request', () => {
  it('is found by the request id of every response: cached document, refusal, no route, wrong method, malformed request', async () => {
    const list = await na.request('GET', '/crl')
    expect(lineOf(list.headers['x-request-id'])).toMatchObject({
      level: 'info',
      route: 'GET /crl',
      status: 200,
      duration_ms: expect.any(Number),
      caller: 'anonymous',
      instance: 'na-7',
    })
    const own = await na.request('GET', '/agents/x?token=hunter2', { headers: { 'X-Request-Id': 'mine-1' } })
    refused(own, 404, 'agent_not_registered')
    expect(lineOf('mine-1')).toMatchObject({
      route: 'GET /agents/{node_public_key}',
      status: 404,
      code: 'agent_not_registered',
    })
    const nowhere = await na.request('GET', '/nowhere/hunter2?q=hunter2')
    expect(lineOf(nowhere.headers['x-request-id'])).toMatchObject({ route: 'none', status: 404, code: 'not_found' })
    const put = await na.request('PUT', '/crl')
    expect(lineOf(put.headers['x-request-id'])).toMatchObject({ status: 405, code: 'method_not_allowed' })
    const broken = await sendRaw('GET /crl HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n')
    const id = /x-request-id: (\S+)/i.exec(broken)?.[1]
    expect(lineOf(id)).toMatchObject({ route: 'none', status: 400, code: 'bad_request' })
    expect(JSON.stringify(lines)).not.toContain('hunter2')
  })

  it('names the kind of caller only when it was proven', async () => {
    const node = nodeCaller(na.url, await testSigner('node', 'access'), () => na.core.clock.now())
    const { cert_id } = await enroll(na, node)
    const beat = await node.heartbeat(cert_id)
    accepted(beat)
    expect(lineOf(beat.headers['x-request-id'])).toMatchObject({ route: 'POST /heartbeat', caller: 'node' })
    const forged = await na.request('POST', '/heartbeat', { body: { cert_id } })
    expect(lineOf(forged.headers['x-request-id'])).toMatchObject({
      caller: 'anonymous',
      code: 'missing_certificate_identity',
    })
    const asked = await na.as('standard')('GET', '/nodes')
    expect(lineOf(asked.headers['x-request-id'])).toMatchObject({ caller: 'operator', status: 200 })
    const unknownCaller = await na.request('GET', '/nodes')
    expect(lineOf(unknownCaller.headers['x-request-id'])).toMatchObject({ caller: 'anonymous', status: 200 })
    const unsigned = await na.request('POST', '/admin/invite', { body: {} })
    expect(lineOf(unsigned.headers['x-request-id'])).toMatchObject({ caller: 'anonymous', status: 401 })
  })

  it('about a failure is an error with its message and cause', async () => {
    const spy = vi.spyOn(GraphCache.prototype, 'current').mockImplementation(() => {
      throw new Error('injected\nfailure', { cause: new Error('behind it') })
    })
    const answer = await na.request('GET', '/connectome.json')
    spy.mockRestore()
    refused(answer, 500, 'internal_server_error')
    expect(lineOf(answer.headers['x-request-id'])).toMatchObject({
      level: 'error',
      code: 'internal_server_error',
      message: 'Error: injected\\u000afailure',
      cause: 'Error: behind it',
    })
  })
})

describe('readiness', () => {
  it('is written once when readiness is lost and once when it is back', async () => {
    const logged = (): unknown[] =>
      lines.map((line) => String(line['event'])).filter((event) => /^(?:not ready|ready again)/.test(event))
    const lost = vi.spyOn(na.core.database, 'checkWritable').mockRejectedValue(new Error('away'))
    for (let asked = 0; asked < 3; asked += 1) expect((await na.request('GET', '/readyz')).status).toBe(503)
    lost.mockRestore()
    for (let asked = 0; asked < 3; asked += 1) expect((await na.request('GET', '/readyz')).status).toBe(200)
    expect(logged()).toEqual(['not ready: database_unavailable', 'ready again'])
  })
})

async function sendRaw(text: string): Promise<string> {
  const { hostname, port } = new URL(na.url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
  socket.write(text)
  await once(socket, 'close')
  return answer
}
