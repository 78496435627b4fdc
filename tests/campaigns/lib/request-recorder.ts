import { type AddressInfo, type Socket, createServer } from 'node:net'

/** One request as it was sent, nothing joined, dropped or decoded. */
export interface RecordedRequest {
  readonly method: string
  readonly target: string
  /** Names in lower case, values as sent, in order. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
  readonly bytes: Buffer
}

export interface Recorder {
  readonly url: string
  readonly host: string
  readonly requests: RecordedRequest[]
  /** Connections since the start, used or not. */
  readonly connections: () => number
  stop(): Promise<void>
}

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
const LINES_ANSWER = ANSWER.replace('application/json', 'application/x-ndjson')

/** A server that records requests. It reads the bytes itself, so that no HTTP library changes what was sent. */
export async function startRecorder(): Promise<Recorder> {
  const requests: RecordedRequest[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      for (;;) {
        const found = cutRequest(received)
        if (found === undefined) return
        received = received.subarray(found.bytes.length)
        requests.push(found)
        socket.write(found.target.startsWith('/admin/evidence/export') ? LINES_ANSWER : ANSWER)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}`,
    host,
    requests,
    connections: () => connections,
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/**
 * Returns the first complete request. A length that is not only digits would leave the rest as a second request, which
 * is detected.
 */
function cutRequest(received: Buffer): RecordedRequest | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [line = '', ...fields] = received.subarray(0, end).toString('latin1').split('\r\n')
  const [method = '', target = ''] = line.split(' ')
  const headers = fields.map((field) => {
    const cut = field.indexOf(':')
    return [field.slice(0, cut).toLowerCase(), field.slice(cut + 1).trim()] as const
  })
  const length = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0)
  const whole = end + 4 + length
  if (received.length < whole) return undefined
  return { method, target, headers, body: received.subarray(end + 4, whole), bytes: received.subarray(0, whole) }
}
