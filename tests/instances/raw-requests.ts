import { connect } from 'node:net'

/** A request exactly as it is sent: any target, and headers as often as listed. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: string
  readonly host?: string
}

export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

const WAIT_MS = 15_000

/** Sends one request on its own connection, and returns the head of the response. Status 0: there was none. */
export function sendRaw(port: number, request: RawRequest): Promise<RawResponse> {
  const { method, target, headers, body = '', host = 'print.example' } = request
  const lines = [...headers, ['Host', host], ['Connection', 'close']].map(([name, value]) => `${name}: ${value}`)
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const finish = (): void => {
      socket.destroy()
      resolve(readHead(text))
    }
    socket.setTimeout(WAIT_MS, finish)
    socket.on('error', finish).on('close', finish)
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      if (/^HTTP\/1\.[01] (?!1\d\d)\d{3}[^]*\r\n\r\n/.test(text)) finish()
    })
    socket.write(head)
    if (body !== '') socket.write(body)
  })
}

function readHead(text: string): RawResponse {
  const [first = '', ...lines] = text.split('\r\n\r\n', 1).join('').split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const cut = line.indexOf(':')
    return [line.slice(0, cut).toLowerCase(), line.slice(cut + 1).trim()]
  })
  return { status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? 0), headers: Object.fromEntries(headers) }
}
