import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { checkBalancer } from './check-edge.ts'

/** Sends the same bytes until the reader closes. Returns the number of sent bytes. */
function endless(response: ServerResponse, bytes: Buffer): () => number {
  let sent = 0
  const more = (): void => {
    while (!response.destroyed) {
      sent += bytes.length
      if (!response.write(bytes)) return void response.once('drain', more)
    }
  }
  more()
  return () => sent
}

it.each([
  // Empty blocks of a gzip stream, which decode to no byte.
  ['compressed to nothing', { 'content-encoding': 'gzip' }, Buffer.from([0, 0, 0, 0xff, 0xff])],
  ['plain', {}, Buffer.from(' ')],
] as const)('stops reading an endless response: %s', async (_what, headers, piece) => {
  let sent = (): number => 0
  const server = createServer((_request, response) => {
    response.writeHead(200, headers)
    if ('content-encoding' in headers) response.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]))
    sent = endless(response, Buffer.alloc(65_535, piece))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const [finding, ...others] = await checkBalancer(url, {} as Parameters<typeof checkBalancer>[1])
    expect([finding?.check, others]).toEqual(['balancer', []])
    // Bytes in the buffers of the connection were sent, too.
    expect(sent()).toBeLessThan(33_554_432)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
