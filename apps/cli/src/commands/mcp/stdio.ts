import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { isJsonObject, member, readJson, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { KnownTools } from './known-tools.ts'
import { readLines } from './lines.ts'
import { CODES, errorBody, idKey, isResponse, readClientMessage, readServerMessage } from './messages.ts'
import type { ServerMessage } from './messages.ts'
import { outcomeOfResponse } from './tool-guard.ts'
import type { ClientRequest, ToolGuard } from './tool-guard.ts'

/** A response with its text; undefined when it was lost. */
type Received = { readonly text: string; readonly message: ServerMessage } | undefined

const MOST_PENDING = 1000
const END_MS = 2000

/** A server as a child process, one message per line. Its standard error is that of the guard. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly #pending = new Map<string, (received: Received) => void>()
  readonly #ended: Promise<number>
  #own = 0
  #isEnded = false

  constructor(
    words: readonly string[],
    { context, onMessage }: { context: CommandContext; onMessage: (text: string, message: ServerMessage) => void },
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

  send(text: string): void {
    if (!this.#isEnded) this.#child.stdin?.write(`${text}\n`)
  }

  /** Sends a request and waits for its response. */
  request(id: JsonValue, text: string): Promise<Received> {
    return new Promise((resolve) => {
      if (this.#isEnded || this.#pending.size >= MOST_PENDING) return resolve(undefined)
      this.#pending.set(idKey(id), resolve)
      this.send(text)
    })
  }

  /** A server does not respond to a cancelled request. */
  cancel(id: JsonValue): void {
    this.#settle(idKey(id), undefined)
  }

  /** Sends a request of the guard itself. */
  async ask(method: string, params: JsonObject): Promise<JsonObject | undefined> {
    this.#own += 1
    const id = `chancery-guard-${process.pid}-${this.#own}`
    const received = await this.request(id, writeJson({ jsonrpc: '2.0', id, method, params }))
    return received === undefined ? undefined : strictResult(received.text)
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

  async #run(command: string, onMessage: (text: string, message: ServerMessage) => void): Promise<number> {
    const exited = new Promise<number>((resolve, reject) => {
      this.#child.once('error', () => reject(notStarted(command)))
      this.#child.once('exit', (code) => resolve(code ?? 1))
    })
    const read = async (): Promise<void> => {
      if (this.#child.stdout === null) return
      for await (const text of readLines(this.#child.stdout)) {
        const message = readServerMessage(text)
        if (message === undefined) continue
        if (!isResponse(message)) onMessage(text, message)
        // A response that no request waits for is dropped: it would be an unfiltered one.
        else this.#settle(idKey(message.id), { text, message })
      }
    }
    try {
      const [code] = await Promise.all([exited, read()])
      return code
    } finally {
      this.#isEnded = true
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

/** Returns the result of a response, read strictly; undefined for an error and for a text that is not strict JSON. */
export function strictResult(text: string): JsonObject | undefined {
  try {
    const value = readJson(text, { maxDepth: 128, maxValues: 1_000_000, maxNames: 1_000_000 })
    const result = isJsonObject(value) ? member(value, 'result') : undefined
    return isJsonObject(result) ? result : undefined
  } catch {
    return undefined
  }
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
  /** Requests of the client without a response. */
  readonly #running = new Map<string, { isCancelled: boolean; isSent: boolean }>()
  readonly #work = new Set<Promise<void>>()

  constructor(context: CommandContext, guard: ToolGuard, words: readonly string[]) {
    this.#context = context
    this.#guard = guard
    this.#server = new ServerProcess(words, {
      context,
      onMessage: (text, { method }) => {
        if (method === 'notifications/tools/list_changed') this.#known.clear()
        this.#write(text)
      },
    })
  }

  async run(): Promise<{ readonly code: number; readonly isClientGone: boolean }> {
    const stop = this.#context.stop()
    const stopped = stop.aborted ? Promise.resolve() : once(stop, 'abort')
    const ended = await Promise.race([
      this.#server.ended.then((code) => ({ code, isClientGone: false })),
      Promise.race([this.#readClient(), stopped]).then(() => undefined),
    ])
    if (ended === undefined) await this.#server.end()
    // Calls without a response end as partial, and their evidence is stored.
    await Promise.allSettled(this.#work)
    return ended ?? { code: 0, isClientGone: true }
  }

  async #readClient(): Promise<void> {
    for await (const line of readLines(this.#context.stdin)) if (line.trim() !== '') this.#receive(line)
  }

  #receive(text: string): void {
    const message = readClientMessage(text)
    if (message.kind === 'invalid') return this.#answer(errorBody(message.id, message.code, message.text))
    if (message.kind === 'response') return this.#server.send(text)
    this.#guard.begin(message.method)
    if (message.kind === 'notification') {
      // Another notification could be a request that a server executes without a response.
      if (!message.method.startsWith('notifications/')) return
      if (message.method === 'notifications/cancelled') this.#cancel(member(message.params, 'requestId'))
      return this.#server.send(text)
    }
    const key = idKey(message.id)
    if (this.#running.has(key))
      return this.#answer(errorBody(message.id, CODES.invalid, 'A request with this id is running.'))
    const work = this.#request(message, text)
      .catch((error: unknown) => {
        this.#context.note(`a request failed: ${error instanceof Error ? error.message : String(error)}`)
        this.#answer(errorBody(message.id, CODES.internal, 'The guard failed.'))
      })
      .finally(() => this.#work.delete(work))
    this.#work.add(work)
  }

  async #request(request: ClientRequest, text: string): Promise<void> {
    const { id, method } = request
    const key = idKey(id)
    const state = { isCancelled: false, isSent: false }
    this.#running.set(key, state)
    const tools = { known: this.#known, ask: (name: string, params: JsonObject) => this.#server.ask(name, params) }
    const guarded = await this.#guard
      .request<Received>(request, tools, async (report) => {
        if (state.isCancelled) {
          report({ outcome: 'failure', detail: 'cancelled before the call' })
          return undefined
        }
        state.isSent = true
        const received = await this.#server.request(id, text)
        report(outcomeOfResponse(received?.message))
        return received
      })
      .finally(() => this.#running.delete(key))
    // A cancelled request gets no response.
    if (state.isCancelled) return
    if (!guarded.passed) return this.#answer(guarded.body)
    const { value } = guarded
    if (value === undefined) return this.#answer(errorBody(id, CODES.internal, 'The server did not respond.'))
    if (method !== 'tools/list' || value.message.result === undefined) return this.#write(value.text)
    const result = strictResult(value.text)
    const filtered = result === undefined ? undefined : await this.#guard.filterList(result)
    if (filtered === undefined)
      return this.#answer(errorBody(id, CODES.internal, 'The server returned a list that cannot be used.'))
    this.#answer({ jsonrpc: '2.0', id, result: filtered })
  }

  #cancel(id: JsonValue | undefined): void {
    if (id === undefined) return
    const state = this.#running.get(idKey(id))
    if (state === undefined) return
    state.isCancelled = true
    if (state.isSent) this.#server.cancel(id)
  }

  #answer(body: JsonObject): void {
    this.#write(writeJson(body))
  }

  #write(text: string): void {
    this.#context.stdout.write(`${text}\n`)
  }
}
