import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type JsonObject, writeJson } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { KnownTools, readLines } from './known-tools.ts'
import { CODES, errorBody, idKey, readClientMessage, readServerMessage } from './messages.ts'
import type { ClientMessage, ServerMessage } from './messages.ts'
import { RequestIds } from './request-ids.ts'
import { type ClientRequest, type ToolGuard, outcomeOfResponse } from './tool-guard.ts'

/** A response, which may be an invalid one; undefined when it was lost. */
type Received = ServerMessage | undefined
type ClientNotification = Extract<ClientMessage, { readonly kind: 'notification' }>

const MOST_PENDING = 1000
const END_MS = 2000

/** A server as a child process, one message per line. Its standard error is that of the guard. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly #pending = new Map<string, (received: Received) => void>()
  readonly #ended: Promise<number>
  #isEnded = false

  constructor(
    words: readonly string[],
    { context, onMessage }: { context: CommandContext; onMessage: (message: ServerMessage) => void },
  ) {
    const [command = '', ...args] = words
    const { cwd, env } = context
    this.#child = spawn(command, args, { cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
    // Writing to a server that ended is not an error of the guard: its requests are lost and reported so.
    this.#child.stdin?.on('error', () => undefined)
    this.#ended = this.#run(command, onMessage)
    this.#ended.catch(() => undefined)
  }

  /** Resolves with the exit code when all output was read. */
  get ended(): Promise<number> {
    return this.#ended
  }

  send(message: JsonObject): void {
    if (!this.#isEnded) this.#child.stdin?.write(`${writeJson(message)}\n`)
  }

  /** Sends a request and waits for its response. */
  request(id: string, message: JsonObject): Promise<Received> {
    return new Promise((resolve) => {
      if (this.#isEnded || this.#pending.size >= MOST_PENDING) return resolve(undefined)
      this.#pending.set(idKey(id), resolve)
      this.send(message)
    })
  }

  /** Informs the server, too. It does not respond to a cancelled request, and a late response is dropped. */
  cancel(id: string, message: JsonObject): void {
    this.send(message)
    this.#settle(idKey(id), undefined)
  }

  /** Sends a request of the guard itself. */
  async ask(method: string, params: JsonObject): Promise<JsonObject | undefined> {
    // A client that could guess the id could cancel the request.
    const id = `chancery-guard-${randomUUID()}`
    const received = await this.request(id, { jsonrpc: '2.0', id, method, params })
    return received?.result
  }

  /** Ends the input of the server, then the server itself when it stays. */
  async end(): Promise<void> {
    this.#child.stdin?.end()
    const ended = this.#ended.then(
      () => true,
      () => true,
    )
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const late = new Promise<boolean>((resolve) => setTimeout(resolve, END_MS, false).unref())
      if (await Promise.race([ended, late])) return
      this.#child.kill(signal)
    }
    await this.#ended.catch(() => undefined)
  }

  async #run(command: string, onMessage: (message: ServerMessage) => void): Promise<number> {
    const exited = new Promise<number>((resolve, reject) => {
      this.#child.once('error', () => reject(notStarted(command)))
      this.#child.once('exit', (code) => resolve(code ?? 1))
    })
    const read = async (): Promise<void> => {
      if (this.#child.stdout === null) return
      for await (const text of readLines(this.#child.stdout)) {
        const message = readServerMessage(text)
        // A response that no request waits for is dropped, and so is a text that is no message.
        if (message.method === undefined) this.#settle(idKey(message.id), message)
        else onMessage(message)
      }
    }
    try {
      const [code] = await Promise.all([exited, read()])
      return code
    } finally {
      this.#isEnded = true
      // It still runs when a line of it was too long.
      this.#child.kill('SIGKILL')
      for (const key of this.#pending.keys()) this.#settle(key, undefined)
    }
  }

  #settle(key: string, received: Received): void {
    const resolve = this.#pending.get(key)
    this.#pending.delete(key)
    resolve?.(received)
  }
}

function notStarted(command: string): CommandError {
  const hint = 'Give the command of the server after --, for example: -- npx some-mcp-server'
  return new CommandError({ code: 'server_not_started', message: `${command} could not be started.`, hint })
}

/** Passes messages between a client at standard input and output and a server process, until one of them ends. */
export async function guardStdio(
  context: CommandContext,
  guard: ToolGuard,
  words: readonly string[],
): Promise<{ readonly code: number; readonly isClientGone: boolean }> {
  const session = new StdioSession(context, guard, words)
  return session.run()
}

class StdioSession {
  readonly #context: CommandContext
  readonly #guard: ToolGuard
  readonly #server: ServerProcess
  readonly #known = new KnownTools()
  readonly #ids = new RequestIds()
  /** Requests of the client without a response, by the id that the client gave. */
  readonly #running = new Set<string>()
  /** Those that the server has, and those that the client cancelled, by the id of the guard. */
  readonly #sent = new Set<string>()
  readonly #cancelled = new Set<string>()
  readonly #work = new Set<Promise<void>>()

  constructor(context: CommandContext, guard: ToolGuard, words: readonly string[]) {
    this.#context = context
    this.#guard = guard
    this.#server = new ServerProcess(words, {
      context,
      onMessage: (message) => {
        if (message.method === 'notifications/tools/list_changed') this.#known.clear()
        const shown = this.#ids.toClient(message)
        if (shown !== undefined) this.#answer(shown.value)
      },
    })
  }

  async run(): Promise<{ readonly code: number; readonly isClientGone: boolean }> {
    const stop = this.#context.stop()
    const stopped = stop.aborted ? Promise.resolve() : once(stop, 'abort')
    try {
      return await Promise.race([
        this.#server.ended.then((code) => ({ code, isClientGone: false })),
        Promise.race([this.#readClient(), stopped]).then(() => ({ code: 0, isClientGone: true })),
      ])
    } finally {
      await this.#server.end()
      // Calls without a response end as partial, and their evidence is stored.
      await Promise.allSettled(this.#work)
    }
  }

  async #readClient(): Promise<void> {
    for await (const line of readLines(this.#context.stdin)) if (line.trim() !== '') this.#receive(line)
  }

  #receive(text: string): void {
    const message = readClientMessage(text)
    if (message.kind === 'invalid') return this.#answer(errorBody(message.id, message.code, message.text))
    if (message.kind === 'response') return this.#server.send(message.value)
    this.#guard.begin(message.method)
    if (message.kind === 'notification') {
      if (!this.#guard.passesNotice(message.method)) return
      return message.method === 'notifications/cancelled' ? this.#cancel(message) : this.#server.send(message.value)
    }
    const key = idKey(message.id)
    if (this.#running.has(key))
      return this.#answer(errorBody(message.id, CODES.invalid, 'A request with this id is running.'))
    const work = this.#request(message)
      .catch((error: unknown) => {
        this.#context.note(`a request failed: ${error instanceof Error ? error.message : String(error)}`)
        this.#answer(errorBody(message.id, CODES.internal, 'The guard failed.'))
      })
      .finally(() => this.#work.delete(work))
    this.#work.add(work)
  }

  async #request(received: ClientRequest): Promise<void> {
    const { id, method } = received
    const key = idKey(id)
    this.#running.add(key)
    const { own, request } = this.#ids.toServer(received)
    const ask = (name: string, params: JsonObject): Promise<JsonObject | undefined> => this.#server.ask(name, params)
    const tools = { known: this.#known, caller: '', ask }
    const guarded = await this.#guard
      .request<Received>(request, tools, async (sent, report) => {
        if (this.#cancelled.has(own)) {
          report({ outcome: 'failure', detail: 'cancelled before the call' })
          return undefined
        }
        this.#sent.add(own)
        const response = await this.#server.request(own, sent)
        report(outcomeOfResponse(response))
        return response
      })
      .finally(() => {
        this.#ids.end(own)
        this.#running.delete(key)
        this.#sent.delete(own)
      })
    // A cancelled request gets no response.
    if (this.#cancelled.delete(own)) return
    if (!guarded.passed) return this.#answer(guarded.body)
    const shown = guarded.value === undefined ? undefined : this.#ids.toClient(guarded.value)
    if (shown === undefined) return this.#answer(errorBody(id, CODES.internal, 'The server did not respond.'))
    this.#answer(await this.#guard.shown(shown, method))
  }

  /** Passes a cancellation on in the id that the server knows. It has no meaning for a request that the server never got. */
  #cancel({ params, value }: ClientNotification): void {
    const own = this.#ids.cancel(params)
    if (own === undefined) return
    this.#cancelled.add(own)
    if (this.#sent.has(own)) this.#server.cancel(own, { ...value, params: { ...params, requestId: own } })
  }

  #answer(body: JsonObject): void {
    this.#context.stdout.write(`${writeJson(body)}\n`)
  }
}
