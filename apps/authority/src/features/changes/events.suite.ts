import { type IncomingMessage, request } from 'node:http'
import { EVENT_STREAM_TYPE } from '@chancery/contract'
import { type JsonObject, signOperatorRequest, writeInstant } from '@chancery/protocol'
import type { TestAuthority } from '@chancery/testkit'

/** An open stream of GET /admin/changes, as a caller sees it. */
export interface EventCaller {
  readonly status: number
  /** Everything received so far. */
  text(): string
  /** The data of each event so far. */
  events(): readonly JsonObject[]
  isEnded(): boolean
  close(): void
}

let counter = 0

/** Opens a stream with the key of the named operator. */
export async function openEvents(na: TestAuthority, as = 'standard', since?: string): Promise<EventCaller> {
  const signer = na.signers[as]
  if (signer === undefined) throw new Error(`no operator named ${as}`)
  counter += 1
  const signed = await signOperatorRequest(
    {
      method: 'GET',
      path: '/admin/changes',
      query: since === undefined ? {} : { since: [since] },
      audience: na.genesis.network_authority.public_key,
      body: {},
      timestamp: writeInstant(na.core.clock.now()),
      nonce: `events-${process.pid}-${counter}`,
    },
    signer,
  )
  const target = `${na.url}/admin/changes${since === undefined ? '' : `?since=${encodeURIComponent(since)}`}`
  const call = request(target, { agent: false, headers: { ...signed, Accept: EVENT_STREAM_TYPE } })
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    call.once('response', resolve).once('error', reject)
    call.end()
  })
  let [text, isEnded] = ['', false]
  answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  // A cut connection is an end, too.
  answer.on('error', () => undefined).once('close', () => (isEnded = true))
  return {
    status: answer.statusCode ?? 0,
    text: () => text,
    events: () => [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1] ?? '') as JsonObject),
    isEnded: () => isEnded,
    close: () => call.destroy(),
  }
}
