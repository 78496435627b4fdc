import { type Socket, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectSecure } from 'node:tls'
import { TestCa, type TestGateway, startTestGateway } from '@chancery/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { startTestSetup } from '../test-gateway.suite.ts'

const HOSTILE = '127.0.0.9'
const OTHER = '127.0.0.2'
const CONNECTIONS = 2000

const opened: Socket[] = []
let gateway: TestGateway | undefined
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy()
  await gateway?.stop()
  gateway = undefined
})

function open(url: string, from = HOSTILE): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: from })
  opened.push(socket)
  // Responses are read, as by a caller that wants as many as possible.
  socket.on('error', () => undefined).resume()
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)).once('close', () => resolve(socket)))
}

async function openMany(url: string, count: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < count)
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(200, count - sockets.length) }, () => open(url)))))
  return sockets
}

describe('one address', () => {
  it('that pipelines requests is slowed down, and others are served', async () => {
    gateway = await startTestGateway({ settings: { GATEWAY_DEVELOPMENT: 'true', GATEWAY_TOKEN: 'a'.repeat(40) } })
    const sockets = await openMany(gateway.url, 20)
    let answers = 0
    const since = performance.now()
    for (const socket of sockets)
      socket
        .on('data', (data: Buffer) => (answers += data.toString('latin1').split('HTTP/1.1 200').length - 1))
        .write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5000))
    for (let i = 0; i < 20; i += 1) expect((await gateway.request('GET', '/health', { from: OTHER })).status).toBe(200)
    // The first request of each connection immediately, then one of the address per 5 ms.
    expect(answers).toBeLessThanOrEqual(20 + (performance.now() - since) / 5 + 1)
    for (let i = 0; i < 1000 && answers < 40; i += 1) await pause(5)
    expect(answers).toBeGreaterThanOrEqual(40)
  })

  it('that uses all connections loses one to another address', async () => {
    gateway = await startTestGateway({ settings: { GATEWAY_DEVELOPMENT: 'true', GATEWAY_TOKEN: 'a'.repeat(40) } })
    const sockets = await openMany(gateway.url, CONNECTIONS + 10)
    // One address may use all connections, because it may be an ingress.
    for (let i = 0; i < 400 && sockets.filter((socket) => socket.closed).length < 10; i += 1) await pause(5)
    expect(sockets.filter((socket) => socket.closed)).toHaveLength(10)
    for (let i = 0; i < 5; i += 1) expect((await gateway.request('GET', '/health', { from: OTHER })).status).toBe(200)
  })

  it('that leaves handshakes unfinished delays no other address', async () => {
    const ca = new TestCa()
    const [server, client] = [ca.issue('gateway'), ca.issue('caller')]
    const setup = await startTestSetup({
      files: { 'cert.pem': server.cert, 'key.pem': server.key, 'ca.pem': ca.cert },
      settings: {
        GATEWAY_TLS_CERT_FILE: '{home}/cert.pem',
        GATEWAY_TLS_KEY_FILE: '{home}/key.pem',
        GATEWAY_TLS_CLIENT_CA_FILE: '{home}/ca.pem',
      },
    })
    gateway = setup.gateway
    const { url } = gateway
    const silent = await openMany(url, 30)
    const tls = { ca: ca.cert, cert: client.cert, key: client.key }
    expect((await gateway.request('GET', '/v1/networks', { token: setup.caller.token, from: OTHER, tls })).status).toBe(
      200,
    )
    // From the same address it waits for one of the eight open handshakes.
    const late = await open(url)
    late.pause()
    const secured = connectSecure({ socket: late, ...tls, checkServerIdentity: () => undefined })
    let isSecure = false
    secured.on('error', () => undefined).once('secureConnect', () => (isSecure = true))
    expect((await gateway.request('GET', '/v1/networks', { token: setup.caller.token, from: OTHER, tls })).status).toBe(
      200,
    )
    expect([isSecure, silent.some((socket) => socket.closed)]).toEqual([false, false])
    for (const socket of silent) socket.destroy()
    for (let i = 0; i < 1000 && !isSecure; i += 1) await pause(5)
    expect(isSecure).toBe(true)
    secured.destroy()
    ca.remove()
  })
})
