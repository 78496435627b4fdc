import type { JsonObject, JsonValue } from '@chancery/protocol'
import { CallError } from '../client.ts'
import type { Act, ActRequest, Values } from './act.ts'
import type { Payload, RequestDraft } from './payload.ts'

/** A dry run is asked again when it is older than this at the press. */
export const DRY_RUN_MS = 60_000
/** A payload is made again when it is older than this. The authority accepts 300 s. */
export const PAYLOAD_MS = 240_000
/** Time from the last edit to the payload. */
const EDIT_DELAY_MS = 300
const TOO_OLD = 'The signed text was too old and was made again. Check it and sign.'

export type Phase =
  | { readonly kind: 'editing' | 'preparing' | 'ready' | 'signing' }
  /** The values do not fit, or the dry run was refused. */
  | { readonly kind: 'problem'; readonly problem: CallError | Error }
  /** Refused or partly done: nothing more is sent. */
  | { readonly kind: 'failed'; readonly problem: CallError | Error; readonly done: number }
  /** No usable response came to the request after the first `done` ones. */
  | { readonly kind: 'unknown'; readonly done: number }
  | { readonly kind: 'done'; readonly answers: readonly JsonObject[] }

export interface ReviewParts {
  readonly makePayload: (draft: RequestDraft) => Payload
  readonly send: (payload: Payload) => Promise<JsonValue>
  readonly now: () => number
  readonly newKey: () => string
  readonly onChange: () => void
}

/**
 * The state of one review. Payloads are made once and shown; a press signs exactly these. An edit removes the payloads,
 * the dry run and the confirmation, and drops the answer of a dry run that is under way.
 */
export class Review {
  values: Values
  typed = ''
  phase: Phase = { kind: 'editing' }
  payloads: readonly Payload[] = []
  dryRun: JsonObject | undefined
  dryRunAt = 0
  /** Set when the review was made again and has to be read again before a press counts. */
  hint = ''
  /** Set after an uncertain outcome, and never removed: a later refusal does not show that nothing happened. */
  mayHaveHappened = false
  #act: Act
  readonly #parts: ReviewParts
  #turn = 0
  /** Of the requests that succeeded. Payloads are those that are left. */
  #answers: readonly JsonObject[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  /** One key per request, chosen when the drawer opens: a repeated press has one effect. */
  readonly #keys = new Map<number, string>()

  constructor(act: Act, parts: ReviewParts, drafted: Values = {}) {
    this.#act = act
    this.#parts = parts
    this.values = { ...Object.fromEntries(act.fields.map(({ name, initial = '' }) => [name, initial])), ...drafted }
  }

  open(): void {
    void this.prepare()
  }

  close(): void {
    this.#turn += 1
    clearTimeout(this.#timer)
  }

  edit(name: string, value: string): void {
    // A request that may have happened keeps its body and its key. The rendering shows the former value again.
    if (['signing', 'unknown', 'done'].includes(this.phase.kind)) {
      this.#parts.onChange()
      return
    }
    this.values = { ...this.values, [name]: value }
    this.typed = ''
    this.#reset()
    this.#timer = setTimeout(() => void this.prepare(), EDIT_DELAY_MS)
    this.#parts.onChange()
  }

  /**
   * Takes the action as the page has it now. When the data of the page changed what the action is about, the review is
   * made again: a title must never be shown with the request of another subject.
   */
  follow(act: Act): void {
    // A request that was sent, or may have been, stays as it is: its repetition must have the same effect once.
    if (['signing', 'unknown', 'failed', 'done'].includes(this.phase.kind)) return
    const isOther = subjectOf(act, this.values) !== subjectOf(this.#act, this.values)
    this.#act = act
    if (!isOther) return
    this.typed = ''
    void this.prepare().then(() => {
      if (this.phase.kind === 'ready')
        this.#showAgain('The data of this page changed. Check what will be signed, and sign.')
    })
  }

  type(text: string): void {
    this.typed = text
    this.#parts.onChange()
  }

  get isConfirmed(): boolean {
    return this.#act.final === undefined || this.typed === this.#act.final.typed
  }

  get canSign(): boolean {
    return (
      (this.phase.kind === 'ready' || this.phase.kind === 'unknown') && this.payloads.length > 0 && this.isConfirmed
    )
  }

  /** Makes the payloads and asks for the dry run. */
  async prepare(): Promise<void> {
    this.#reset()
    const turn = this.#turn
    this.#set({ kind: 'preparing' })
    try {
      if (this.#act.check !== undefined) {
        await this.#act.check(this.values)
        if (turn !== this.#turn) return
      }
      const requests = this.#act.requests(this.values)
      this.payloads = requests.map((request, at) => this.#payloadOf(request, at))
      const dryRun = await this.#askDryRun(requests[0])
      // Values changed while the dry run was under way: its answer is about other values.
      if (turn !== this.#turn) return
      this.dryRun = dryRun
      this.dryRunAt = this.#parts.now()
      this.#set({ kind: 'ready' })
    } catch (error) {
      if (turn !== this.#turn) return
      this.payloads = []
      this.#set({ kind: 'problem', problem: toError(error) })
    }
  }

  /** Signs and sends what is shown, unless the dry run or the payload is too old: then it is shown again first. */
  async press(): Promise<void> {
    if (!this.canSign) return
    const turn = this.#turn
    const wasUnknown = this.phase.kind === 'unknown'
    this.hint = ''
    this.#set({ kind: 'signing' })
    try {
      if (wasUnknown ? this.#isRepeatOutdated() : await this.#isOutdated(turn)) return
      await this.#sendAll()
    } catch (error) {
      if (turn !== this.#turn) return
      if (wasUnknown) this.#fail(error)
      else this.#set({ kind: 'problem', problem: toError(error) })
    }
  }

  /** The authority refuses an old timestamp, so the repetition is made again, with the same body and key. */
  #isRepeatOutdated(): boolean {
    if (this.#parts.now() - (this.payloads[0]?.madeAt ?? 0) <= PAYLOAD_MS) return false
    this.typed = ''
    this.hint = TOO_OLD
    this.#repeat()
    return true
  }

  async #isOutdated(turn: number): Promise<boolean> {
    const age = this.#parts.now() - (this.payloads[0]?.madeAt ?? 0)
    const requests = this.#act.requests(this.values)
    if (age > PAYLOAD_MS) {
      this.payloads = requests.map((request, at) => this.#payloadOf(request, at))
      return this.#showAgain(TOO_OLD)
    }
    if (this.#act.hasDryRun !== true || this.#parts.now() - this.dryRunAt <= DRY_RUN_MS) return false
    // About what is shown and will be signed, not about what the page would send now.
    const fresh = await this.#askDryRun(this.payloads[0])
    if (turn !== this.#turn) return true
    const isSame = JSON.stringify(fresh) === JSON.stringify(this.dryRun)
    this.dryRun = fresh
    this.dryRunAt = this.#parts.now()
    return isSame ? false : this.#showAgain('The effect has changed since it was shown. Nothing was signed.')
  }

  #showAgain(hint: string): true {
    this.typed = ''
    this.hint = hint
    this.#set({ kind: 'ready' })
    return true
  }

  async #sendAll(): Promise<void> {
    for (const [at, payload] of this.payloads.entries()) {
      try {
        if (this.#answers.length > 0) this.#act.checkAnswers?.(this.#answers)
        this.#answers = [...this.#answers, (await this.#parts.send(payload)) as JsonObject]
      } catch (error) {
        this.#fail(error, at)
        return
      }
    }
    this.#set({ kind: 'done', answers: this.#answers })
  }

  /** `sent`: how many of the payloads succeeded. They are not sent again. */
  #fail(error: unknown, sent = 0): void {
    if (error instanceof CallError && error.isUncertain) {
      this.payloads = this.payloads.slice(sent)
      this.mayHaveHappened = true
      this.#repeat()
    } else this.#set({ kind: 'failed', problem: toError(error), done: this.#answers.length })
  }

  /** A nonce works once, so a request is made again, with the same body and the same idempotency key. */
  #repeat(): void {
    this.payloads = this.payloads.map(({ method, target, body, idempotencyKey }) =>
      this.#parts.makePayload({ method, target, ...(body && { body }), ...(idempotencyKey && { idempotencyKey }) }),
    )
    this.#set({ kind: 'unknown', done: this.#answers.length })
  }

  #payloadOf({ method = 'POST', target, body, isRepeatable }: ActRequest, at: number): Payload {
    if (isRepeatable !== true) return this.#parts.makePayload({ method, target, body })
    const idempotencyKey = this.#keys.get(at) ?? this.#parts.newKey()
    this.#keys.set(at, idempotencyKey)
    return this.#parts.makePayload({ method, target, body, idempotencyKey })
  }

  async #askDryRun(
    request: (Pick<RequestDraft, 'target' | 'body'> & { readonly method?: RequestDraft['method'] }) | undefined,
  ): Promise<JsonObject | undefined> {
    if (this.#act.hasDryRun !== true || request === undefined) return undefined
    const { method = 'POST', target, body } = request
    const payload = this.#parts.makePayload({ method, target, body: { ...body, dry_run: true } })
    return (await this.#parts.send(payload)) as JsonObject
  }

  #reset(): void {
    clearTimeout(this.#timer)
    this.#turn += 1
    this.payloads = []
    this.dryRun = undefined
    this.hint = ''
    this.#answers = []
    // Another body is another request: the former key belongs to the former body.
    this.#keys.clear()
    this.phase = { kind: 'editing' }
  }

  #set(phase: Phase): void {
    this.phase = phase
    this.#parts.onChange()
  }
}

/** What an action is about. Bodies are not part of it: some contain the present time. */
function subjectOf(act: Act, values: Values): string {
  const { title, sentence, final } = act
  let targets: readonly string[]
  try {
    targets = act.requests(values).map(({ method = 'POST', target }) => `${method} ${target.encoded}`)
  } catch {
    // Values that do not fit make no request; the review states the reason.
    targets = []
  }
  return JSON.stringify([title, sentence, final, targets])
}

function toError(error: unknown): CallError | Error {
  return error instanceof Error ? error : new Error(String(error))
}
