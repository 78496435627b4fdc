import { type Instant, type JoinCertificate, instantOf, readWit, seconds } from '@chancery/protocol'
import type { NodeAreas } from './areas.ts'
import { VerificationError } from '../errors.ts'

/** A token with less time left is replaced. */
const MARGIN: Instant = seconds(300)

interface Held {
  readonly certId: string
  readonly wit: string
  readonly until: Instant
}

/** Fetches the workload identity token of a node, and again before it ends or when the certificate was renewed. */
export class WitSource {
  readonly #client: NodeAreas
  readonly #clock: () => Instant
  #held: Held | undefined
  #asked: { readonly certId: string; readonly answer: Promise<string> } | undefined

  constructor(client: NodeAreas, clock: () => Instant) {
    this.#client = client
    this.#clock = clock
  }

  /** Callers at the same time share one request. */
  current({ cert_id: certId }: JoinCertificate): Promise<string> {
    const held = this.#held
    if (held?.certId === certId && held.until - this.#clock() > MARGIN) return Promise.resolve(held.wit)
    if (this.#asked?.certId === certId) return this.#asked.answer
    const answer = this.#fetch(certId).finally(() => {
      if (this.#asked?.answer === answer) this.#asked = undefined
    })
    this.#asked = { certId, answer }
    return answer
  }

  async #fetch(certId: string): Promise<string> {
    const { wit, expires_at } = await this.#client.enrollment.wit({ cert_id: certId })
    if (readWit(wit)?.certificate.cert_id !== certId)
      throw new VerificationError('wit_mismatch', 'response', 'the token is not of this certificate')
    this.#held = { certId, wit, until: instantOf(expires_at) }
    return wit
  }
}
