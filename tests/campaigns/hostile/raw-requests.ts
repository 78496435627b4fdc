import { request } from 'node:http'
import { type Socket, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Target of the calls, and the local address to call from. */
interface Place {
  readonly url: string
  readonly from: string
}

/** Status of the response; 0 when the connection ended without one. */
export interface RawResponse {
  readonly status: number
  readonly text: string
}

function open({ url, from }: Place): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress: from })
  socket.on('error', () => {})
  return socket
}

/** Sends bytes unchanged and waits for a response, or for the end of the connection. */
export function exchange(place: Place, bytes: string | Buffer, limitMs: number): Promise<RawResponse> {
  return new Promise((resolve) => {
    const socket = open(place)
    let text = ''
    const end = (): void => {
      clearTimeout(limit)
      socket.destroy()
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text })
    }
    const limit = setTimeout(end, limitMs)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (text.includes('\r\n\r\n')) end()
    })
    socket.on('close', end)
    socket.write(bytes)
  })
}

interface Post {
  readonly path: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends one request. With `leaveAfterMs` it closes the connection after that time. */
export function post(place: Place, { path, body, headers }: Post, leaveAfterMs?: number): Promise<RawResponse> {
  const { hostname, port } = new URL(place.url)
  return new Promise((resolve) => {
    const sent = request({
      host: hostname,
      port,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
      localAddress: place.from,
      agent: false,
    })
    const leave = setTimeout(() => sent.destroy(), leaveAfterMs ?? 25_000)
    const end = (answer: RawResponse): void => {
      clearTimeout(leave)
      resolve(answer)
    }
    sent.on('response', (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', () => end({ status: 0, text: '' }))
      answer.on('end', () => end({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }))
    })
    sent.on('error', () => end({ status: 0, text: '' }))
    sent.end(body)
  })
}

interface Withheld {
  readonly path: string
  readonly announced: number
  readonly sent: number
  readonly connections: number
  readonly headers?: readonly string[]
}

/** Opens connections that announce a body, send a part of it, wait, and close. */
export async function withhold(place: Place, plan: Withheld, forMs: number): Promise<readonly RawResponse[]> {
  const { hostname } = new URL(place.url)
  const piece = Buffer.alloc(plan.sent, 0x20)
  const connections = Array.from({ length: plan.connections }, () => {
    const socket = open(place)
    const received = { text: '' }
    socket.on('data', (chunk) => {
      received.text += chunk.toString('latin1')
    })
    const lines = [
      `POST ${plan.path} HTTP/1.1`,
      `Host: ${hostname}`,
      'Content-Type: application/json',
      ...(plan.headers ?? []),
      `Content-Length: ${plan.announced}`,
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    socket.write(piece)
    return { socket, received }
  })
  await pause(forMs)
  return connections.map(({ socket, received }) => {
    socket.destroy()
    return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(received.text)?.[1] ?? 0), text: received.text }
  })
}

/** Requests a document, reads only its beginning, and closes the connection. */
export async function readLittle(place: Place, path: string, connections: number, forMs: number): Promise<void> {
  const { hostname } = new URL(place.url)
  const sockets = Array.from({ length: connections }, () => {
    const socket = open(place)
    socket.once('data', () => socket.pause())
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
    return socket
  })
  await pause(forMs)
  for (const socket of sockets) socket.destroy()
}

/** Sends the end of a body after a pause, in one piece. */
export async function finishLate(place: Place, plan: Post, pauseMs: number): Promise<RawResponse> {
  const { hostname } = new URL(place.url)
  const bytes = Buffer.from(plan.body)
  const cut = Math.max(1, bytes.length - 1)
  return new Promise((resolve) => {
    const socket = open(place)
    let text = ''
    const end = (): void => {
      clearTimeout(late)
      clearTimeout(limit)
      socket.destroy()
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text })
    }
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('close', end)
    const lines = [
      `POST ${plan.path} HTTP/1.1`,
      `Host: ${hostname}`,
      'Content-Type: application/json',
      ...Object.entries(plan.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${bytes.length}`,
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    socket.write(bytes.subarray(0, cut))
    const late = setTimeout(() => socket.write(bytes.subarray(cut)), pauseMs)
    const limit = setTimeout(end, pauseMs + 500)
  })
}
