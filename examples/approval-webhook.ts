/**
 * Receives events of held requests, verifies that the authority signed them, and prints a link for a person. Give the
 * public key of the authority, which its genesis block has. The link approves nothing: the page asks for a key.
 *
 * `node examples/approval-webhook.ts <public key of the authority> [port]`
 */
import { createHash, createPublicKey, verify } from 'node:crypto'
import { createServer } from 'node:http'

const [authorityKey = '', port = '9700'] = process.argv.slice(2)
const MAX_BYTES = 65_536
const MAX_AGE_MS = 300_000
/** Ed25519 in the form that Node.js reads: this prefix, then the 32 bytes of the key. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const key = createPublicKey({
  key: Buffer.concat([SPKI, Buffer.from(authorityKey, 'base64')]),
  format: 'der',
  type: 'spki',
})

interface ApprovalEvent {
  readonly event_id: string
  readonly event: string
  readonly approval_id: string
  readonly titles: readonly string[]
  readonly expires_at: string
  readonly url: string | null
}

/** Undefined when the authority did not sign exactly this body, or not within five minutes. */
function readEvent(body: Buffer, timestamp: string, signature: string): ApprovalEvent | undefined {
  const digest = createHash('sha256').update(body).digest('hex')
  const message = Buffer.from(`chancery-webhook-v1\n${timestamp}\n${digest}`)
  const isRecent = Math.abs(Date.now() - Date.parse(timestamp)) < MAX_AGE_MS
  if (!isRecent || !verify(null, message, key, Buffer.from(signature, 'base64'))) return undefined
  return JSON.parse(body.toString()) as ApprovalEvent
}

/** Each event arrives at least once. */
const seen = new Set<string>()

createServer((request, response) => {
  const parts: Buffer[] = []
  let bytes = 0
  request.on('data', (part: Buffer) => {
    bytes += part.length
    if (bytes > MAX_BYTES) request.destroy()
    else parts.push(part)
  })
  request.on('end', () => {
    const header = (name: string): string => String(request.headers[name] ?? '')
    const event = readEvent(Buffer.concat(parts), header('chancery-timestamp'), header('chancery-signature'))
    if (event === undefined) {
      response.writeHead(401).end()
      return
    }
    response.writeHead(204).end()
    if (seen.has(event.event_id)) return
    seen.add(event.event_id)
    const link = event.url ?? `chancery approval show ${event.approval_id}`
    console.log(`${event.event}: ${event.titles.join(', ')}, until ${event.expires_at}: ${link}`)
  })
}).listen(Number(port), '127.0.0.1', () => console.log(`waiting for events on http://127.0.0.1:${port}/`))
