import { type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OutboundResponse, callUrl } from './call-url.ts'

/** Head of a gzip stream, then empty blocks without end: they decode to no byte. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
const EMPTY_BLOCKS = Buffer.alloc(65_535, Buffer.from([0, 0, 0, 0xff, 0xff]))

let reply: (response: ServerResponse) => void
let server: Server
beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    reply(response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

function ask(maxBytes: number): Promise<OutboundResponse> {
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  return callUrl({ url, timeoutMs: 20_000, maxBytes, takesGzip: true })
}

/** Sends the same bytes until the reader disconnects, and counts them. */
function endless(response: ServerResponse, bytes: Buffer, sent: { bytes: number }): void {
  const more = (): void => {
    while (!response.destroyed) {
      sent.bytes += bytes.length
      if (!response.write(bytes)) return void response.once('drain', more)
    }
  }
  more()
}

it('cancels a compressed response that decodes to nothing', async () => {
  const sent = { bytes: 0 }
  reply = (response) => {
    response.write(GZIP_HEAD)
    endless(response, EMPTY_BLOCKS, sent)
  }
  await expect(ask(67_108_864)).rejects.toMatchObject({ kind: 'too_large' })
  // Bytes in the buffers of the connection count as sent.
  expect(sent.bytes).toBeLessThan(16_777_216)
})

it('counts compressed bytes against the limit of decoded ones', async () => {
  reply = (response) => endless(response, gzipSync(''), { bytes: 0 })
  await expect(ask(100_000)).rejects.toMatchObject({ kind: 'too_large' })
})

it('reads a response that compression does not make smaller', async () => {
  const bytes = randomBytes(8_388_608)
  reply = (response) => response.end(gzipSync(bytes))
  expect(bytes.equals((await ask(9_000_000)).body)).toBe(true)
})
